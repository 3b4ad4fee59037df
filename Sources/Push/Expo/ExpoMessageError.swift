import BellhopRules

/// Converts Expo's error for one message into a verdict; tickets and receipts have the same form.
///
/// The form is `{"status": "error", "message": …, "details": {"error": <code>}}`; the details may be missing.
enum ExpoMessageError {
    /// The wait after one device has received more than Expo allows; only this device is slowed down.
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
        // The credentials of the Expo project for FCM or APNs; each platform has its own.
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
