/// A failure or delay that the sandbox produces on request.
package struct SandboxFault: Sendable, Equatable {
    /// The answer that replaces the normal answer.
    package struct Answer: Sendable, Equatable {
        /// The status, 300 to 599.
        package var status: Int
        /// The provider's reason, such as `QUOTA_EXCEEDED`; by default the usual one of the status.
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
        /// The normal answer, delayed.
        case delay
        case answer(Answer)
        /// The normal answer, its body one byte at a time with this interval before each byte.
        case drip(every: Duration)
        /// The request is read and recorded, and the connection is closed without an answer.
        case drop
        /// The same, after the head and half of the body of the normal answer.
        case partial
        /// The request is read and recorded, and its stream ends without an answer; the connection stays open.
        case reset
        /// The request is recorded and reported as unprocessed, and the connection accepts no further requests.
        case goAway
    }

    package var provider: ProviderName
    /// A part of the device token or of the path; `nil` matches every request of the provider.
    package var match: String?
    package var effect: Effect
    /// The delay before the effect.
    package var delay: Duration
    /// The fraction of the matching requests that the fault applies to, 0 to 1.
    package var rate: Double
    /// The number of requests that the fault applies to; `nil` for no limit.
    package var count: Int?
    /// For mail only: the step of the dialogue that the fault applies to, by default the end of the content.
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

    /// Returns the same fault for another step of a dialogue.
    package func inDialogue(at phase: DialoguePhase) -> SandboxFault {
        var fault = self
        fault.phase = phase
        return fault
    }

    /// Returns the same fault limited to a fraction of the requests, to a number of requests, or both.
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

/// The steps of a dialogue with a mail server, at which a fault can be applied.
package enum DialoguePhase: String, CaseIterable, Sendable {
    case connect
    case ehlo
    case starttls
    case auth
    case mail
    case rcpt
    case data
    /// The step after the content.
    case endOfData = "end-of-data"
}
