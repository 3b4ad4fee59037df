package import HTTPTransfer

extension Verdict {
    /// Returns the verdict on a request that certainly was not processed.
    ///
    /// Usually, a later attempt is useful. A failure that Bellhop's settings cause (a certificate, an address) is a
    /// configuration error.
    package static func notSent(_ error: TransferError, shortestWait: Duration) -> Verdict {
        let reason = VerdictReason(error.code)
        switch error.code {
        case .certificate, .invalidRequest, .invalidOptions, .addressRefused:
            return .configError(reason, scope: .provider)
        case .nameLookup, .connect, .tls, .timeout:
            return .retry(reason, notBefore: shortestWait, scope: .provider)
        case .connectionLost, .incompleteAnswer, .protocolViolation, .library:
            return .retry(reason, notBefore: shortestWait, scope: .message)
        case .cancelled, .closed:
            // The provider has not received the request, so it requires no wait.
            return .retry(reason, notBefore: .zero, scope: .message)
        }
    }

    /// Returns the verdict on a request that may have been processed.
    package static func lostSight(_ error: TransferError, shortestWait: Duration) -> Verdict {
        .unknown(VerdictReason(error.code), notBefore: shortestWait)
    }
}

extension VerdictReason {
    init(_ code: TransferError.Code) {
        self =
            switch code {
            case .invalidRequest: .invalidRequest
            case .invalidOptions: .invalidOptions
            case .nameLookup: .nameLookup
            case .connect: .connect
            case .addressRefused: .addressRefused
            case .tls: .tls
            case .certificate: .certificate
            case .timeout: .timeout
            case .connectionLost: .connectionLost
            case .incompleteAnswer: .incompleteAnswer
            case .protocolViolation: .protocolViolation
            case .cancelled: .cancelled
            case .closed: .closed
            case .library: .library
            }
    }
}

/// The waits that a provider requests, within limits.
enum ProviderWait {
    /// Returns the wait of a `Retry-After`; `shortest` if that is longer, or if there is no such header.
    static func asked(_ retryAfterSeconds: Int?, atLeast shortest: Duration) -> Duration {
        retryAfterSeconds.map { max(shortest, clamped(retryAfterSeconds: $0)) } ?? shortest
    }

    /// Returns the wait of a `Retry-After`, limited to one second to six hours.
    static func clamped(retryAfterSeconds seconds: Int) -> Duration {
        .seconds(min(max(seconds, 1), 6 * 3600))
    }
}

/// Distinguishes a page from the answer of a provider's interface.
enum HTMLErrorPage {
    /// Returns whether a body is present and is not a JSON object, so that a gateway or a portal has answered instead
    /// of the provider.
    static func isOne(_ body: [UInt8]) -> Bool {
        guard let beginning = body.first(where: { $0 > 0x20 }) else { return false }
        return beginning != UInt8(ascii: "{")
    }
}
