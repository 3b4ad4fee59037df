import Synchronization

/// Answers every request with 200 at once, unread but for a word that it may look for: what a benchmark sends to when the sender is measured and not this.
///
/// In FCM's form: other providers answer otherwise, and what is unread does not say which one is meant.
final class UncheckedHandler: HTTP2Handler {
    private let answered = Atomic<Int>(0)
    /// Nil where nothing is read.
    let noted: NotedArrivals?

    init(noting noted: NotedArrivals? = nil) {
        self.noted = noted
    }

    var readsContent: Bool { noted != nil }

    /// How many requests it has answered since it was last reset.
    var count: Int { answered.load(ordering: .relaxed) }

    func resetCount() {
        answered.store(0, ordering: .relaxed)
        noted?.removeAll()
    }

    func react(to request: HTTP2Request) -> HTTP2Reaction {
        answered.wrappingAdd(1, ordering: .relaxed)
        noted?.look(at: request.body)
        return Self.reaction
    }

    /// One body for all: a sender of messages finds its `name` in it, and who asks for an access token finds that.
    private static let reaction = HTTP2Reaction(
        .answer(
            .json(
                200,
                Array(
                    """
                    {"name":"projects/unchecked/messages/0",\
                    "access_token":"unchecked","expires_in":3600,"token_type":"Bearer"}
                    """.utf8
                )
            )
        )
    )
}
