import Testing

@testable import BellhopRules

@Suite("Pairs of platform and provider")
struct DevicePairTests {
    private static let tokens: [PushProvider: [String]] = [
        .apns: ["a1b2c3", "t"], .fcm: ["dX3:APA91b-x_y", "t"], .webpush: [WebPush.endpoint],
        .expo: ["ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "ExpoPushToken[x]"],
    ]
    private static let known: [PushProvider: Set<DevicePlatform>] = [
        .apns: [.ios], .fcm: [.ios, .android, .web], .expo: [.ios, .android], .webpush: [.web],
    ]

    /// Returns the place of the fault of a registration; `nil` if it is accepted.
    private static func fault(_ token: String, _ platform: DevicePlatform, _ provider: PushProvider) throws -> String? {
        let user = try #require(UserID(validating: "u"))
        let app = try #require(AppID(validating: "drop"))
        let fields: JSONObject = [
            "token": .string(token), "platform": .string(platform.rawValue), "provider": .string(provider.rawValue),
            "subscription": .object(WebPush.subscription()),
        ]
        switch FeedUpdate.said(by: user, of: app, .subscriptionUpserted, fields) {
        case .success: return nil
        case .failure(let rejection): return "\(rejection.reason.rawValue) \(rejection.pointer.text)"
        }
    }

    @Test("only known pairs are accepted, with tokens of the provider's form", arguments: PushProvider.allCases)
    func pairs(provider: PushProvider) throws {
        for platform in DevicePlatform.allCases {
            let isKnown = Self.known[provider]?.contains(platform) == true
            for token in Self.tokens[provider] ?? [] {
                let found = try Self.fault(token, platform, provider)
                let field = provider == .expo || provider == .webpush ? "platform" : "provider"
                #expect(found == (isKnown ? nil : "invalid-field /\(field)"))
            }
        }
    }

    @Test("a token of another provider's form is refused", arguments: PushProvider.allCases)
    func forms(provider: PushProvider) throws {
        let platform = try #require(provider.platforms.first)
        let isOpen = provider == .apns || provider == .fcm
        for (other, tokens) in Self.tokens where other != provider {
            for token in tokens {
                let found = try Self.fault(token, platform, provider)
                let isAccepted = isOpen && (other == .apns || other == .fcm)
                #expect(found == (isAccepted ? nil : "invalid-field /token"))
            }
        }
    }

    @Test("a token with only a part of Expo's form is not one", arguments: ["ExpoPushToken[x", "xExpoPushToken[x]"])
    func prefixes(text: String) throws {
        let token = try #require(DeviceToken(validating: text))
        #expect(!token.isOfExpo)
    }
}
