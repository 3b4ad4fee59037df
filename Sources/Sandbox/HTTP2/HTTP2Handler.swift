/// Decides the outcome of requests.
///
/// It is called on the thread of the server's loop, so it must not wait.
protocol HTTP2Handler: Sendable {
    /// Whether the handler reads headers and bodies.
    ///
    /// If false, they are not collected, and requests arrive without them.
    var readsContent: Bool { get }

    func react(to request: HTTP2Request) -> HTTP2Reaction
}

/// A handler's reaction to a request.
struct HTTP2Reaction: Sendable {
    enum Action: Sendable {
        case answer(HTTP2Answer)
        /// The head immediately, then one byte of the body per interval; the stream ends with the last byte.
        case answerSlowly(HTTP2Answer, every: Duration)
        /// The head and half of the body; then the connection ends.
        case answerPartly(HTTP2Answer)
        /// The stream ends without an answer.
        case resetStream
        /// The client is told that neither this request nor any later one is processed; earlier requests are.
        case goAway
        /// The connection ends without an answer to this request; earlier answers are still sent.
        case dropConnection
    }

    let action: Action
    /// The delay before the action; with zero, it is immediate.
    let delay: Duration

    init(_ action: Action, after delay: Duration = .zero) {
        self.action = action
        self.delay = delay
    }
}
