import BellhopRules

/// What an error answer says of itself: Apple's `reason`, or words of other services.
struct WebPushReport {
    let reason: String?
    private let text: String

    private static let parser = JSONParser(limits: .init(bytes: 1 << 16, depth: 16))
    private static let signInReasons: Set<String> = ["BadJwtToken", "BadAuthorizationHeader", "BadVapidPublicKey"]

    init(body: [UInt8]) {
        reason = Self.parser.parse(body).value?["reason"]?.string
        text = String(decoding: body.prefix(4096), as: UTF8.self)
    }

    /// Whether the browser subscribed with another key than the one that was used.
    var blamesOtherKey: Bool {
        reason == "VapidPkHashMismatch" || text.contains("do not correspond to the credentials used to create")
    }

    /// Whether it is the sign-in that is refused, whatever the status.
    var blamesSignIn: Bool {
        reason.map(Self.signInReasons.contains) == true || text.contains("UnauthorizedRegistration")
    }
}
