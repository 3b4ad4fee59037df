/// Decides what becomes of requests; called on the thread of the server's loop, so it must not wait for anything.
protocol HTTP2Handler: Sendable {
    /// False spares the collecting of headers and bodies: requests then come without either.
    var readsContent: Bool { get }

    func react(to request: HTTP2Request) -> HTTP2Reaction
}

/// What a handler does about a request.
struct HTTP2Reaction: Sendable {
    enum Action: Sendable {
        case answer(HTTP2Answer)
        /// The head at once, then a byte of the body each time that the span has passed, and the end with the last one.
        case answerSlowly(HTTP2Answer, every: Duration)
        /// The head and half of the body; then the connection ends.
        case answerPartly(HTTP2Answer)
        /// The stream ends without an answer.
        case resetStream
        /// The client is told that this request was not processed and no other will be; those before it are.
        case goAway
        /// The connection ends without an answer to this request; answers given before still go out.
        case dropConnection
    }

    let action: Action
    /// How long to wait before the action; zero acts at once.
    let delay: Duration

    init(_ action: Action, after delay: Duration = .zero) {
        self.action = action
        self.delay = delay
    }
}
