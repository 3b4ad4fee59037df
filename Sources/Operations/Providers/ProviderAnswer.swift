package import BellhopJSON
import BellhopRules
import Push
package import ServiceRuntime

/// Explains a provider's verdict on a test message.
package struct ProviderAnswer: Sendable {
    private let verdict: Verdict
    private let provider: CheckedProvider
    private let app: AppID
    private let hasToken: Bool

    init(_ verdict: Verdict, provider: CheckedProvider, app: AppID, hasToken: Bool) {
        self.verdict = verdict
        self.provider = provider
        self.app = app
        self.hasToken = hasToken
    }

    /// 0 if the credentials and any given token are valid, 75 if the result is unknown.
    package var exitCode: ExitCode {
        switch verdict {
        case .delivered, .accepted: .done
        case .deviceGone: hasToken ? .answerIsNo : .done
        case .payloadError, .configError: .answerIsNo
        case .retry, .unknown: .tryAgain
        }
    }

    package var text: String {
        ["\(provider.rawValue) for \(app): \(headline)", advice.map { "  \($0)" }].compactMap { $0 }.joined(
            separator: "\n"
        )
    }

    package var json: JSONValue {
        .members([
            ("app", .string(app.text)), ("provider", .string(provider.rawValue)),
            ("verdict", .string(verdict.kind.rawValue)),
            ("reason", .optional(verdict.reason?.rawValue)), ("isWell", .bool(exitCode == .done)),
            ("explanation", .string(headline)), ("advice", .optional(advice)),
        ])
    }

    private var headline: String {
        let reason = verdict.reason?.rawValue ?? ""
        switch verdict {
        case .delivered, .accepted:
            return provider == .fcm ? "would accept the message (validated, not sent)" : "accepted the message"
        case .deviceGone(.endpointRefused, _), .deviceGone(.subscriptionUnusable, _):
            return "nothing sent: the subscription leads to no browser (\(reason))"
        case .deviceGone where !hasToken:
            return "the credentials are right; only the made-up token was rejected (\(reason))"
        // The cause may be the token, or the account, environment or topic of our credentials. One answer cannot
        // distinguish them.
        case .deviceGone where verdict.inMasses != nil:
            return "accepts the credentials, but not for this token (\(reason))"
        case .deviceGone: return "the credentials are right, but the token is no longer valid (\(reason))"
        case .payloadError where verdict.reason == .mailboxUnknown: return "the relay knows no such mailbox"
        case .payloadError: return "rejected the test message (\(reason))"
        case .configError: return "rejects our credentials or settings (\(reason))"
        case .retry, .unknown: return "no conclusive answer (\(reason)); try again"
        }
    }

    /// The advice, or `nil` if there is no problem or the reason is sufficient.
    private var advice: String? {
        guard exitCode != .done, let reason = verdict.reason else { return nil }
        return Self.advice[reason]
            ?? (verdict.kind == .configError ? "see docs/providers.md, section \(provider.rawValue)" : nil)
    }

    private static let advice: [VerdictReason: String] = [
        .permissionDenied: "enable the Firebase Cloud Messaging API in the project, and let the service account use it",
        .senderIDMismatch: "the token belongs to another Firebase project than the service account",
        .badDeviceToken: "the token is of APNs' other environment, or none: see --environment",
        .deviceTokenNotForTopic: "the token belongs to another app than the topic",
        .thirdPartyAuthError: "the Firebase project's own APNs key or web push key is missing or wrong",
        .notFound: "the project or the endpoint does not exist: compare project_id in the service account's file",
        .tokenRefused: "check this machine's clock, and that the service account and its key still exist",
        .unauthenticated: "the access token is not accepted: check the service account or the access token's file",
        .certificate: "the server's certificate is not trusted: check the endpoint and caFile",
        .nameLookup: "the endpoint's name is not known here: check DNS and the endpoint",
        .connect: "nothing answers at the endpoint: check the network and the endpoint",
        .authenticationRefused: "the relay refuses user or password",
        .encryptionMissing: "the relay offers no STARTTLS: use another port or smtps://",
        .refusedByPolicy: "the relay refuses the mail; if all of them, see DKIM, SPF, DMARC and its right to relay",
        .senderRefused: "the relay does not let us send as the address in from",
        .vapidRefused: "the push service does not accept the VAPID key's signature: check subject and clock",
        .vapidMismatch: "the browser has subscribed with another VAPID key",
        .unknownVAPIDKey: "the subscription names a VAPID key that is not configured",
        .addressRefused: "the endpoint leads to an address that must not be reached from here",
        .endpointRefused: "the endpoint's host is not among the allowed ones: see allowedHosts",
    ]
}
