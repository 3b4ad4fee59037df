/// The pairs of platform and provider by which devices are reached, and the tokens that fit.
///
/// The API and the feed check registrations by this table. A wrong pair would be accepted and then fail at each push.
extension PushProvider {
    /// The platforms whose devices the provider reaches.
    public var platforms: [DevicePlatform] {
        switch self {
        case .apns: [.ios]
        case .fcm: [.ios, .android, .web]
        case .expo: [.ios, .android]
        case .webpush: [.web]
        }
    }

    /// All pairs in words, for messages.
    static let pairs = allCases.map { provider in
        "\(provider.rawValue) with \(provider.platforms.map(\.rawValue).joined(separator: ", "))"
    }.joined(separator: "; ")

    /// Returns whether a token has the provider's form.
    ///
    /// Expo and Web Push define the form of their tokens. Tokens of Apple and Google may have any other form.
    func fits(_ token: DeviceToken) -> Bool {
        switch self {
        case .expo: token.isOfExpo
        case .webpush: WebPushEndpoint(validating: token.text) != nil
        case .apns, .fcm: !token.isOfExpo && !token.text.hasPrefix("https://")
        }
    }

    /// The form of the provider's tokens, for messages.
    var tokenRule: String {
        switch self {
        case .expo: "a token of Expo, such as ExponentPushToken[…]"
        case .webpush: WebPushEndpoint.rule
        case .apns, .fcm: "a token of \(rawValue), which is neither one of Expo nor an https URL"
        }
    }
}

extension DeviceToken {
    /// Whether Expo issued the token.
    var isOfExpo: Bool {
        text.hasSuffix("]") && ["ExponentPushToken[", "ExpoPushToken["].contains { text.hasPrefix($0) }
    }
}
