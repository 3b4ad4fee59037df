package import BellhopRules
import ServiceRuntime

/// Emulates one provider: judges requests as the real service would, and formats its answers.
protocol ProviderStandIn: Sendable {
    var name: ProviderName { get }

    /// Whether a request for this path belongs to this provider.
    func serves(path: String) -> Bool

    /// Judges a request without side effects, because a fault may still replace the answer.
    func judge(_ request: HTTP2Request, now: Instant) -> ProviderDecision

    /// Returns the answer that a fault requests, in the form of the real service.
    func answer(to fault: SandboxFault.Answer) -> StandInAnswer
}

/// An answer with the provider's reason.
struct StandInAnswer: Sendable {
    let http: HTTP2Answer
    /// A reason such as `UNREGISTERED`; `nil` for a success and for answers without a reason.
    let reason: String?
    /// The reason for each part of a request that has parts.
    var reasons: [String?] = []
}

/// A provider's judgement of a request.
struct ProviderDecision: Sendable {
    /// The error of the request; `nil` also if the request is valid and the device is not.
    var refused: String?
    /// The device that the request names.
    var token: String?
    /// The tag by which the device recognises a repeat.
    var tag: String?
    /// The content to record in place of the original body.
    var content: ReceivedContent?
    /// Whether the connection may have many concurrent requests from this one on; relevant only if it had a lower
    /// limit.
    var provesClient = false
    /// The messages of a request that carries several; each is recorded separately.
    var parts: [Part] = []
    /// Creates the normal answer with all its effects, such as a token that is valid from then on.
    var answer: @Sendable () -> StandInAnswer

    /// One message of several.
    struct Part: Sendable {
        let refused: String?
        let token: String?
        let tag: String?
        let content: ReceivedContent
    }

    init(_ answer: @escaping @Sendable () -> StandInAnswer) { self.answer = answer }

    /// The judgements to record: one for each part, or this one if there are no parts.
    var recorded: [ProviderDecision] {
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

    static func refuse(_ why: String, _ answer: StandInAnswer) -> ProviderDecision {
        var judgement = ProviderDecision { answer }
        judgement.refused = why
        return judgement
    }
}

/// The recorded content of a request's body.
package enum ReceivedContent: Sendable {
    /// The body, unchanged.
    case bytes([UInt8])
    /// The decoded form of the body.
    case json(JSONValue)
}
