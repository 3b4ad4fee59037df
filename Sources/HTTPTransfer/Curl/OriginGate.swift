/// Decides how many requests may be in flight to one origin.
///
/// A new HTTP/2 connection gets one request alone, and the others follow when that one has ended. libcurl starts streams
/// before it has heard how many the peer allows, and a peer that allows few (APNs allows one until it has accepted a
/// token) refuses the rest; libcurl cannot tell us such a refusal from a connection that died with the request, so each
/// of them would count as an unknown outcome.
///
///     cold ──probe starts──► probing ──probe ends──► warm
///       ▲                                              │
///       └──── idle for a second, or a request was lost ┘
package struct OriginGate {
    package enum Admission {
        case probe
        case ordinary
    }

    /// What an ended request teaches about the way to its origin.
    package enum Lesson {
        case answered(ProtocolVersion)

        /// It failed on the way, before or after it was sent.
        case failed(isUnknown: Bool)

        /// It was given up, or refused before it was sent.
        case none
    }

    private enum State {
        case cold
        case probing
        case warm
    }

    /// A connection that was quiet for longer may be gone, so that the next request would open a new one.
    private static let trust: Duration = .seconds(1)

    private let connections: Int
    private let streams: Int
    private var state = State.cold
    private var version: ProtocolVersion?
    private var idleSince: ContinuousClock.Instant?

    package private(set) var inFlight = 0

    package init(connections: Int, streams: Int) {
        self.connections = connections
        self.streams = streams
    }

    /// What the connections can carry: requests beyond that would wait inside libcurl with their clocks running.
    private var limit: Int {
        version == .http1 ? connections : connections * streams
    }

    /// Lets one more request start, or not yet.
    package mutating func admit(now: ContinuousClock.Instant) -> Admission? {
        if case .warm = state, inFlight == 0, let idleSince, now - idleSince > Self.trust { state = .cold }
        switch state {
        case .probing:
            return nil
        case .cold:
            state = .probing
            inFlight += 1
            return .probe
        case .warm:
            guard inFlight < limit else { return nil }
            inFlight += 1
            return .ordinary
        }
    }

    /// Takes back what `admit` gave.
    package mutating func leave(_ admission: Admission, _ lesson: Lesson, now: ContinuousClock.Instant) {
        inFlight -= 1
        idleSince = now
        if case .answered(let version) = lesson { self.version = version }
        switch (admission, lesson) {
        case (.probe, .none): state = .cold
        // However the probe ended, the others go: one by one they would meet the same failure one by one.
        case (.probe, _): state = .warm
        case (.ordinary, .failed(isUnknown: true)): if case .warm = state { state = .cold }
        case (.ordinary, _): break
        }
    }
}

extension OriginGate.Lesson {
    init(_ outcome: TransferOutcome) {
        switch outcome {
        case .answered(let answer):
            self = .answered(answer.version)
        case .notSent(let error), .unknown(let error):
            switch error.code {
            case .cancelled, .closed, .invalidRequest, .library: self = .none
            default:
                if case .unknown = outcome { self = .failed(isUnknown: true) } else { self = .failed(isUnknown: false) }
            }
        }
    }
}
