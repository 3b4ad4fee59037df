import CCurl
import Glibc

/// Runs all transfers of one transport on one multi handle.
///
/// Thread safety: made by whoever opens the transport, then given to the thread that calls `run`, which alone touches
/// it from there on. Everybody else speaks to `inbox`.
final class TransferLoop: @unchecked Sendable {
    private enum Phase {
        case open
        case closing(deadline: ContinuousClock.Instant)
        case ended
    }

    /// An idle loop looks around once a minute.
    private static let longestWait: Duration = .seconds(60)

    let inbox: TransferInbox

    private let options: CurlTransportOptions
    private let multi: UnsafeMutableRawPointer
    private let progress = TransferProgress()
    private var phase = Phase.open
    private var waiting = RequestQueue()
    private var slots: [TransferSlot]
    private var idle: [TransferSlot]
    private var closers: [CheckedContinuation<Void, Never>] = []

    init(_ options: CurlTransportOptions) throws(TransferError) {
        guard CurlLibrary.isReady, let multi = curl_multi_init() else {
            throw options.refusal("libcurl could not be initialised")
        }
        self.options = options
        self.multi = multi
        let wakes = WakeablePointer(multi)
        inbox = TransferInbox { curl_multi_wakeup(wakes.multi) }
        do {
            // The first handle is made here, so that libcurl's refusal of an option reaches whoever set it.
            let slot = try TransferSlot(options, progress)
            slots = [slot]
            idle = [slot]
        } catch {
            curl_multi_cleanup(multi)
            throw error
        }
        bellhop_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        bellhop_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.maxConnectionsPerHost)
    }

    /// Works until the transport is closed or abandoned.
    func run() {
        while true {
            for message in inbox.drain() { handle(message) }
            progress.hasReceived = false
            startWaiting()
            perform()
            let hasFinished = collectFinished()
            endIfDue()
            if case .ended = phase { break }
            // What has ended makes room, and what has received may have more to do: go on before sleeping.
            guard !hasFinished, !progress.hasReceived else {
                progress.deservesSecondLook = true
                continue
            }
            wait()
        }
        end()
    }

    private func handle(_ message: TransferInbox.Message) {
        switch message {
        case .submit(let batch):
            guard case .open = phase else { return batch.refuseAll(.closed) }
            guard !batch.isCancelled else { return batch.refuseAll(.cancelled) }
            for index in batch.requests.indices { waiting.append(QueuedRequest(batch: batch, index: index)) }
        case .cancel(let batch):
            batch.isCancelled = true
            refuseWaiting(.cancelled) { $0 === batch }
            abandon(.cancelled) { $0 === batch }
        case .close(let closer):
            closers.append(closer)
            beginClosing(grace: options.closeGrace)
        case .abandon:
            beginClosing(grace: .zero)
        case .retire, .lookedUp:
            break
        }
    }

    private func beginClosing(grace: Duration) {
        guard case .open = phase else { return }
        refuseWaiting(.closed) { _ in true }
        phase = .closing(deadline: .now + grace)
    }

    private func endIfDue() {
        guard case .closing(let deadline) = phase, idle.count == slots.count || deadline <= .now else { return }
        abandon(.closed) { _ in true }
        phase = .ended
    }

    private func startWaiting() {
        while slots.count - idle.count < options.window, let next = waiting.first {
            waiting.removeFirst()
            do {
                try start(next)
            } catch {
                next.batch.settle(next.index, .notSent(error))
            }
        }
    }

    private func refuseWaiting(_ reason: Abandonment, where isMeant: (TransferBatch) -> Bool) {
        for queued in waiting.remove(where: isMeant) {
            queued.batch.settle(queued.index, .notSent(reason.error(for: queued.request)))
        }
    }

    private func start(_ queued: QueuedRequest) throws(TransferError) {
        let slot = try takeSlot()
        do {
            try slot.prepare(queued)
        } catch {
            idle.append(slot)
            throw error
        }
        progress.deservesSecondLook = true
        let result = curl_multi_add_handle(multi, slot.handle)
        guard result == CURLM_OK else {
            free(slot)
            throw Abandonment.loopFailed(Self.text(result)).error(for: queued.request)
        }
    }

    private func takeSlot() throws(TransferError) -> TransferSlot {
        if let slot = idle.popLast() { return slot }
        let slot = try TransferSlot(options, progress)
        slots.append(slot)
        return slot
    }

    private func free(_ slot: TransferSlot) {
        slot.release()
        idle.append(slot)
    }

    private func perform() {
        var running: CInt = 0
        let result = curl_multi_perform(multi, &running)
        guard result != CURLM_OK else { return }
        abandon(.loopFailed(Self.text(result))) { _ in true }
    }

    /// Settles what libcurl has ended; true if there was any.
    private func collectFinished() -> Bool {
        var hasFinished = false
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let slot = slot(of: message.pointee.easy_handle) else {
                continue
            }
            settle(slot) { $0.conclude(message.pointee.data.result, of: $1) }
            hasFinished = true
        }
        return hasFinished
    }

    private func slot(of handle: UnsafeMutableRawPointer?) -> TransferSlot? {
        var context: UnsafeMutableRawPointer?
        guard let handle, bellhop_easy_get_private(handle, &context) == CURLE_OK else { return nil }
        return TransferSlot.slot(context)
    }

    private func abandon(_ reason: Abandonment, where isConcerned: (TransferBatch) -> Bool) {
        for slot in slots {
            guard let queued = slot.queued, isConcerned(queued.batch) else { continue }
            settle(slot) { $0.abandon(reason, of: $1) }
        }
    }

    /// The outcome is read from the handle before it leaves the multi handle, and told after.
    private func settle(_ slot: TransferSlot, _ outcome: (TransferSlot, QueuedRequest) -> TransferOutcome) {
        guard let queued = slot.queued else { return }
        let outcome = outcome(slot, queued)
        curl_multi_remove_handle(multi, slot.handle)
        free(slot)
        queued.batch.settle(queued.index, outcome)
    }

    private func wait() {
        var limit = progress.deservesSecondLook ? TransferProgress.secondLook : Self.longestWait
        progress.deservesSecondLook = false
        if case .closing(let deadline) = phase { limit = min(limit, max(deadline - .now, .zero)) }
        // Rounded up, so that the loop does not spin through the last millisecond before a deadline.
        let milliseconds = CInt(limit / .milliseconds(1)) + 1
        guard curl_multi_poll(multi, nil, 0, milliseconds, nil) != CURLM_OK else { return }
        abandon(.loopFailed("poll")) { _ in true }
        usleep(100_000)
    }

    /// Releases libcurl, then tells everybody who still waits.
    private func end() {
        let unread = inbox.end()
        slots = []
        idle = []
        curl_multi_cleanup(multi)
        for message in unread {
            switch message {
            case .submit(let batch): batch.refuseAll(.closed)
            case .close(let closer): closers.append(closer)
            case .cancel, .retire, .abandon, .lookedUp: break
            }
        }
        for closer in closers { closer.resume() }
    }

    private static func text(_ result: CURLMcode) -> String {
        String(cString: curl_multi_strerror(result))
    }
}

/// Thread safety: `curl_multi_wakeup` is the one call on a multi handle that other threads may make, and the inbox makes
/// it on a living handle only.
private struct WakeablePointer: @unchecked Sendable {
    let multi: UnsafeMutableRawPointer

    init(_ multi: UnsafeMutableRawPointer) {
        self.multi = multi
    }
}
