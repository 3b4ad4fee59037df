import Foundation

/// The keys in a browser's `PushSubscription` with which messages to it are encrypted.
///
/// Their text form is masked.
public struct WebPushKeys: Hashable, Sendable {
    /// The browser's public key: 65 bytes, an uncompressed point of P-256 (`keys.p256dh`).
    ///
    /// The encryption checks whether the point lies on the curve.
    public let publicKey: [UInt8]

    /// The 16 bytes that the app's server and the browser share (`keys.auth`); a secret.
    public let secret: [UInt8]

    /// The name of the app's VAPID key with which the browser has subscribed; `nil` if unknown.
    public let vapidKeyID: String?

    /// The required form of a VAPID key's name.
    public static let keyIDRule = "a name of 1 to 64 letters, digits, dots, hyphens and underscores"

    /// Reads a `PushSubscription` as JSON (`{"endpoint", "keys": {"p256dh", "auth"}}`), with an optional member
    /// `vapidKeyID`.
    ///
    /// The result is `nil` if a required part is missing or invalid.
    public init?(subscription: JSONObject) {
        do {
            try self.init(JSONFieldReader(subscription, at: .root))
        } catch {
            return nil
        }
    }

    init(_ reader: JSONFieldReader) throws(FieldFault) {
        guard let members = try reader.object("keys") else {
            throw reader.missing("keys", "an object with p256dh and auth")
        }
        let keys = JSONFieldReader(members, at: reader.place("keys"))
        publicKey = try keys.bytes("p256dh", "65 bytes in base64url, the first one 4") {
            $0.count == 65 && $0.first == 4
        }
        secret = try keys.bytes("auth", "16 bytes in base64url") { $0.count == 16 }
        vapidKeyID = try reader.keyID("vapidKeyID")
    }

    /// Returns whether a text is a valid name of a VAPID key.
    public static func isKeyID(_ text: String) -> Bool {
        IdentifierRules.isTypeName(text, longest: 64)
    }
}

extension WebPushKeys: CustomStringConvertible, CustomReflectable {
    /// A mask without any part of the keys.
    public var description: String { "WebPushKeys(•••)" }

    /// An empty mirror, so that reflection does not reveal the keys.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension JSONFieldReader {
    /// Reads bytes in base64url, with or without padding.
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

    /// Decodes base64url by converting it to ordinary base64, which Foundation reads.
    ///
    /// The result is `nil` for text outside the URL-safe alphabet.
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
