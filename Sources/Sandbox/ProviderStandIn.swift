package import BellhopRules
import ServiceRuntime

/// What stands in for one provider: judges requests as the real service would, and words its answers.
protocol ProviderStandIn: Sendable {
    var name: ProviderName { get }

    /// Whether a request for this path is this provider's.
    func serves(path: String) -> Bool

    /// Looks at a request without changing anything: a fault may yet take the place of the answer.
    func judge(_ request: HTTP2Request, now: Instant) -> Judgement

    /// The answer that a fault asks for, in the form of the real service.
    func answer(to fault: SandboxFault.Answer) -> ProviderAnswer
}

/// An answer, and the word that the provider has for it.
struct ProviderAnswer: Sendable {
    let http: HTTP2Answer
    /// Such as `UNREGISTERED`; nil for a success and for answers without one.
    let reason: String?
    /// The word for each part of a request that has parts.
    var reasons: [String?] = []
}

/// What a provider makes of a request.
struct Judgement: Sendable {
    /// What is wrong with the request; nil also where the request is right and the device is not.
    var refused: String?
    /// The device that the request names.
    var token: String?
    /// What makes a repeat recognisable on the device.
    var tag: String?
    /// What to record in place of the body as it came.
    var content: ReceivedContent?
    /// Whether a connection may carry many requests at once from this one on; matters where it could not before.
    var provesClient = false
    /// The messages of a request that carries several: each is recorded by itself.
    var parts: [Part] = []
    /// Makes the normal answer, with all that follows from it, such as a token that is valid from here on.
    var answer: @Sendable () -> ProviderAnswer

    /// One message of several.
    struct Part: Sendable {
        let refused: String?
        let token: String?
        let tag: String?
        let content: ReceivedContent
    }

    init(_ answer: @escaping @Sendable () -> ProviderAnswer) {
        self.answer = answer
    }

    /// The judgements to record: one for each part, or this one where there are none.
    var recorded: [Judgement] {
        parts.isEmpty
            ? [self]
            : parts.map { part in
                var single = self
                single.refused = part.refused
                single.token = part.token
                single.tag = part.tag
                single.content = part.content
                return single
            }
    }

    static func refuse(_ why: String, _ answer: ProviderAnswer) -> Judgement {
        var judgement = Judgement { answer }
        judgement.refused = why
        return judgement
    }
}

/// The bytes of a request's body, as they are recorded.
package enum ReceivedContent: Sendable {
    /// As they came.
    case bytes([UInt8])
    /// What was made of them.
    case json(JSONValue)
}
