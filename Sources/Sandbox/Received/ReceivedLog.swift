import ServiceRuntime
import Synchronization

/// Stores the latest requests completely and counts all of them.
final class ReceivedLog: Sendable {
    /// The limits of the log; the oldest requests are removed first.
    struct Bounds: Sendable {
        var requests = 200_000
        var bytes = 512 * 1_024 * 1_024
    }

    /// A processed request; the log adds its number.
    struct Entry {
        let at: Instant
        let provider: ProviderName?
        let request: HTTP2Request
        let judgement: ProviderDecision
        let answer: ReceivedRequest.Answer?
    }

    private struct Arrival {
        /// The kept requests.
        ///
        /// A removed request is set to `nil` first, so that its memory is freed immediately.
        var requests = Queue<ReceivedRequest?>()
        var bytes = 0
        var number: UInt64 = 0
        var summary = ReceivedSummary()
    }

    private let bounds: Bounds
    private let kept = Mutex(Arrival())

    init(_ bounds: Bounds) { self.bounds = bounds }

    func append(_ entry: Entry) {
        kept.withLock { kept in
            kept.number += 1
            let received = ReceivedRequest(
                number: kept.number,
                at: entry.at,
                provider: entry.provider,
                connection: entry.request.connection,
                token: entry.judgement.token,
                tag: entry.judgement.tag,
                content: entry.judgement.content ?? .bytes(entry.request.body),
                answer: entry.answer,
                refused: entry.judgement.refused,
                block: entry.request.headers
            )
            kept.summary.add(received)
            kept.requests.append(received)
            kept.bytes += received.byteCount
            while kept.requests.count > bounds.requests || kept.bytes > bounds.bytes {
                guard let oldest = kept.requests.first else { break }
                kept.bytes -= oldest?.byteCount ?? 0
                kept.requests[0] = nil
                kept.requests.removeFirst(1)
            }
        }
    }

    /// Returns kept requests, oldest first: of one provider or (`nil`) of all, only those after the request with this
    /// number, and at most `limit`.
    func requests(
        of provider: ProviderName? = nil,
        after number: UInt64 = 0,
        limit: Int = .max
    ) -> [ReceivedRequest] {
        let all = kept.withLock { $0.requests }
        let matching = all.lazy.compactMap { $0 }.filter { request in
            request.number > number && (provider == nil || request.provider == provider)
        }
        return Array(matching.prefix(limit))
    }

    /// The counts, at constant cost.
    var summary: ReceivedSummary {
        kept.withLock { kept in
            var summary = kept.summary
            summary.kept = kept.requests.count
            return summary
        }
    }

    /// Removes all requests and counts.
    func removeAll() { kept.withLock { $0 = Arrival(number: $0.number) } }
}
