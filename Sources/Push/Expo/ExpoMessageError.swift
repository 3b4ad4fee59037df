import BellhopRules

/// What Expo says of one message that did not go through, in a ticket or in a receipt: both have the same form.
///
/// `{"status": "error", "message": …, "details": {"error": <code>}}`; the details may be missing.
enum ExpoMessageError {
    /// One device gets more than Expo allows: its own pace has to slow down.
    static let deviceWait: Duration = .seconds(60)

    static func verdict(_ report: JSONValue) -> Verdict {
        guard let code = report["details"]?["error"]?.string else {
            let message = report["message"]?.string ?? ""
            return blamesToken(message) ? .deviceGone(.invalidToken, at: nil) : .payloadError(.invalidMessage)
        }
        switch code {
        case "DeviceNotRegistered": return .deviceGone(.deviceNotRegistered, at: nil)
        case "MessageTooBig": return .payloadError(.messageTooBig)
        case "MessageRateExceeded": return .retry(.messageRateExceeded, notBefore: deviceWait, scope: .device)
        // The keys that the Expo project holds for FCM or APNs; each platform has its own.
        case "MismatchSenderId": return .configError(.mismatchedSender, scope: .platform)
        case "InvalidCredentials": return .configError(.invalidCredentials, scope: .platform)
        case "DeveloperError": return .configError(.developerError, scope: .provider)
        case "ProviderError": return .retry(.providerError, notBefore: ExpoAnswer.shortestWait, scope: .message)
        case "ExpoError": return .retry(.expoError, notBefore: ExpoAnswer.shortestWait, scope: .message)
        default: return .payloadError(.unspecifiedError)
        }
    }

    private static func blamesToken(_ message: String) -> Bool {
        message.contains("is not a valid Expo push token") || message.contains("is not a registered push notification")
    }
}
