import Foundation

/// What a browser's `PushSubscription` says of the keys that messages to it are made with; its text is a mask.
public struct WebPushKeys: Hashable, Sendable {
    /// The browser's public key: 65 bytes, an uncompressed point of P-256 (`keys.p256dh`).
    ///
    /// Whether the point lies on the curve shows when something is encrypted for it.
    public let publicKey: [UInt8]

    /// The 16 bytes that the app's server and the browser share (`keys.auth`); a secret.
    public let secret: [UInt8]

    /// Which of the app's VAPID keys the browser has subscribed with; nil where nobody said.
    public let vapidKeyID: String?

    /// What the name of a VAPID key looks like.
    public static let keyIDRule = "a name of 1 to 64 letters, digits, dots, hyphens and underscores"

    /// Reads a `PushSubscription` as JSON (`{"endpoint", "keys": {"p256dh", "auth"}}`), where `vapidKeyID` may stand
    /// beside the rest; nil where a part that is needed is missing or wrong.
    public init?(subscription: JSONObject) {
        do {
            try self.init(FieldReader(subscription, at: .root))
        } catch {
            return nil
        }
    }

    init(_ reader: FieldReader) throws(FieldFault) {
        guard let members = try reader.object("keys") else {
            throw reader.missing("keys", "an object with p256dh and auth")
        }
        let keys = FieldReader(members, at: reader.place("keys"))
        publicKey = try keys.bytes("p256dh", "65 bytes in base64url, the first one 4") {
            $0.count == 65 && $0.first == 4
        }
        secret = try keys.bytes("auth", "16 bytes in base64url") { $0.count == 16 }
        vapidKeyID = try reader.keyID("vapidKeyID")
    }

    /// Whether a text can name a VAPID key.
    public static func isKeyID(_ text: String) -> Bool {
        IdentifierRules.isTypeName(text, longest: 64)
    }
}

extension WebPushKeys: CustomStringConvertible, CustomReflectable {
    /// Nothing of the keys.
    public var description: String { "WebPushKeys(•••)" }

    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension FieldReader {
    /// Bytes in base64url, with padding or without.
    fileprivate func bytes(
        _ key: String,
        _ expected: String,
        _ isRight: ([UInt8]) -> Bool
    ) throws(FieldFault) -> [UInt8] {
        guard let value = self[key] else { throw missing(key, expected) }
        guard let text = value.string, let bytes = Self.decode(text), isRight(bytes) else {
            throw FieldFault(at: place(key), expected: expected, found: value)
        }
        return bytes
    }

    fileprivate func keyID(_ key: String) throws(FieldFault) -> String? {
        guard let value = self[key] else { return nil }
        guard let text = value.string, WebPushKeys.isKeyID(text) else {
            throw FieldFault(at: place(key), expected: WebPushKeys.keyIDRule, found: value)
        }
        return text
    }

    /// By way of ordinary base64, which Foundation reads; nil for anything but the alphabet that is safe in URLs.
    private static func decode(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard digits.count <= 256, padding == 0 || (padding <= 2 && digits.count % 4 == 0) else { return nil }
        digits.removeLast(padding)
        for index in digits.indices {
            switch digits[index] {
            case UInt8(ascii: "-"): digits[index] = UInt8(ascii: "+")
            case UInt8(ascii: "_"): digits[index] = UInt8(ascii: "/")
            case let digit where IdentifierRules.isLetter(digit) || IdentifierRules.isDigit(digit): break
            default: return nil
            }
        }
        digits += Array(repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
        return Data(base64Encoded: Data(digits)).map { [UInt8]($0) }
    }
}
