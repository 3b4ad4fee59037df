import Synchronization

/// Answers every request immediately with 200, without checks, for benchmarks that measure only the sender.
///
/// It reads bodies only to search for a word, if one is given.
///
/// The answer has FCM's form. Other providers answer differently, and an unread request does not identify its provider.
final class UncheckedHandler: HTTP2Handler {
    private let answered = Atomic<Int>(0)
    /// `nil` if nothing is read.
    let noted: ArrivalLog?
    private let reaction: HTTP2Reaction

    /// Creates a handler; one that issues tokens adds an access token to every answer, since it does not know which
    /// requests ask for one.
    init(noting noted: ArrivalLog? = nil, issuingTokens issuesTokens: Bool = false) {
        self.noted = noted
        reaction = HTTP2Reaction(.answer(.json(200, Array((issuesTokens ? Self.withToken : Self.message).utf8))))
    }

    var readsContent: Bool { noted != nil }

    /// The number of answered requests since the last reset.
    var count: Int { answered.load(ordering: .relaxed) }

    func resetCount() {
        answered.store(0, ordering: .relaxed)
        noted?.removeAll()
    }

    func react(to request: HTTP2Request) -> HTTP2Reaction {
        answered.wrappingAdd(1, ordering: .relaxed)
        noted?.look(at: request.body)
        return reaction
    }

    /// FCM's answer to an accepted message.
    static let message = """
        {
          "name": "projects/unchecked/messages/0:1500415314455276%31bd1c9631bd1c96"
        }

        """

    private static let withToken = """
        {"name":"projects/unchecked/messages/0",\
        "access_token":"unchecked","expires_in":3600,"token_type":"Bearer"}
        """
}
