import BellhopRules

/// The content of an error answer: Apple's `reason`, or the text of other services.
struct WebPushReport {
    let reason: String?
    private let text: String

    private static let parser = JSONParser(limits: .init(bytes: 1 << 16, depth: 16))
    private static let signInReasons: Set<String> = ["BadJwtToken", "BadAuthorizationHeader", "BadVapidPublicKey"]

    init(body: [UInt8]) {
        reason = Self.parser.parse(body).value?["reason"]?.string
        text = String(decoding: body.prefix(4096), as: UTF8.self)
    }

    /// Whether the browser subscribed with a key other than the used one.
    var blamesOtherKey: Bool {
        reason == "VapidPkHashMismatch" || text.contains("do not correspond to the credentials used to create")
    }

    /// Whether the sign-in is rejected, whatever the status.
    var blamesSignIn: Bool {
        reason.map(Self.signInReasons.contains) == true || text.contains("UnauthorizedRegistration")
    }
}
