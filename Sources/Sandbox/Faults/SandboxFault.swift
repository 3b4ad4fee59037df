/// Something that shall go wrong, or slowly.
package struct SandboxFault: Sendable, Equatable {
    /// What is answered in place of the normal answer.
    package struct Answer: Sendable, Equatable {
        /// 300 to 599.
        package var status: Int
        /// The provider's word for it, such as `QUOTA_EXCEEDED`; the usual one of the status unless given.
        package var reason: String?
        /// The value of a `Retry-After` header.
        package var retryAfter: String?

        package init(status: Int, reason: String? = nil, retryAfter: String? = nil) {
            self.status = status
            self.reason = reason
            self.retryAfter = retryAfter
        }
    }

    package enum Effect: Sendable, Equatable {
        /// The normal answer, late.
        case delay
        case answer(Answer)
        /// The normal answer, its body one byte at a time with this span before each.
        case drip(every: Duration)
        /// The request is taken in and recorded, and the connection closed without an answer.
        case drop
        /// The same after the head and half of the body of the normal answer.
        case partial
        /// The request is taken in and recorded, and its stream ended without an answer; the connection goes on.
        case reset
        /// The request is recorded and called unprocessed, and the connection takes no other after it.
        case goAway
    }

    package var provider: ProviderName
    /// A part of the device token or of the path; nil matches every request of the provider.
    package var match: String?
    package var effect: Effect
    /// Before the effect.
    package var delay: Duration
    /// The share of the matching requests that it befalls, 0 to 1.
    package var rate: Double
    /// How many requests it befalls before it is over; nil for no end.
    package var count: Int?
    /// For mail alone: the step of the dialogue that it befalls, after the content unless given.
    package var phase: DialoguePhase?

    package init(
        _ provider: ProviderName,
        _ effect: Effect,
        match: String? = nil,
        delay: Duration = .zero
    ) {
        self.provider = provider
        self.effect = effect
        self.match = match
        self.delay = delay
        rate = 1
        count = nil
    }

    /// The same fault at another step of a dialogue.
    package func inDialogue(at phase: DialoguePhase) -> SandboxFault {
        var fault = self
        fault.phase = phase
        return fault
    }

    /// The same fault for a share of the requests, a number of times, or both.
    package func limited(toRate rate: Double = 1, count: Int? = nil) -> SandboxFault {
        var fault = self
        fault.rate = min(max(rate, 0), 1)
        fault.count = count
        return fault
    }

    func matches(_ provider: ProviderName, token: String?, path: String, phase: DialoguePhase? = nil) -> Bool {
        guard provider == self.provider, phase == nil || phase == self.phase ?? .endOfData else { return false }
        guard let match else { return true }
        return path.contains(match) || token?.contains(match) == true
    }
}

/// The steps of a dialogue with a mail server, by which a fault says where it strikes.
package enum DialoguePhase: String, CaseIterable, Sendable {
    case connect
    case ehlo
    case starttls
    case auth
    case mail
    case rcpt
    case data
    /// After the content.
    case endOfData = "end-of-data"
}
