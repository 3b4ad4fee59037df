package import HTTPTransfer

extension Verdict {
    /// The verdict on a request that certainly was not processed.
    ///
    /// Mostly another time is better; what our own settings cause (a certificate, an address) is a config error.
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
            // The provider has seen nothing, so it asks for no wait.
            return .retry(reason, notBefore: .zero, scope: .message)
        }
    }

    /// The verdict on a request that may have been processed.
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

/// The waits that a provider asks for, kept within reason.
enum ProviderWait {
    /// What a `Retry-After` asks for, and `shortest` where that is longer, or where there is none.
    static func asked(_ retryAfterSeconds: Int?, atLeast shortest: Duration) -> Duration {
        retryAfterSeconds.map { max(shortest, clamped(retryAfterSeconds: $0)) } ?? shortest
    }

    /// From one second to six hours, whatever a `Retry-After` says.
    static func clamped(retryAfterSeconds seconds: Int) -> Duration {
        .seconds(min(max(seconds, 1), 6 * 3600))
    }
}
