import Dispatch
import Foundation

/// The operating system's signals that Bellhop handles.
package enum ProcessSignal: Sendable, CaseIterable {
    /// SIGTERM: drain and end.
    case terminate
    /// SIGINT, Ctrl-C: drain and end.
    case interrupt
    /// SIGHUP: reload files.
    case hangup

    package var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .hangup: SIGHUP
        }
    }

    package var name: String {
        switch self {
        case .terminate: "SIGTERM"
        case .interrupt: "SIGINT"
        case .hangup: "SIGHUP"
        }
    }

    /// Returns every arrival of one of `signals`, from the return of this call for as long as the stream is held.
    ///
    /// Meanwhile the signals lose their default effect, which for these three ends the process. All streams of the same
    /// signal receive it.
    package static func arrivals(of signals: [ProcessSignal]) -> AsyncStream<ProcessSignal> {
        let queue = DispatchQueue(label: "bellhop.signals")
        let (stream, continuation) = AsyncStream<ProcessSignal>.makeStream(bufferingPolicy: .bufferingNewest(16))
        let sources = signals.map { signal in
            let source = DispatchSource.makeSignalSource(signal: signal.number, queue: queue)
            source.setEventHandler { continuation.yield(signal) }
            return source
        }
        let registrations = DispatchGroup()
        for source in sources {
            registrations.enter()
            source.setRegistrationHandler { registrations.leave() }
            source.resume()
        }
        // A signal between this call and the registration would end the process; this takes microseconds.
        registrations.wait()
        let held = HeldSources(sources)
        continuation.onTermination = { _ in held.cancel() }
        return stream
    }

    /// Makes a write to a pipe or socket without a reader fail with EPIPE instead of ending the process.
    package static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }
}

/// Keeps signal sources alive until they are cancelled.
///
/// Thread safety: the array never changes, and `cancel` of a dispatch source may be called from any thread.
private final class HeldSources: @unchecked Sendable {
    private let sources: [any DispatchSourceSignal]

    init(_ sources: [any DispatchSourceSignal]) { self.sources = sources }

    func cancel() {
        for source in sources { source.cancel() }
    }
}
