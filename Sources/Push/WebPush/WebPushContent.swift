package import BellhopRules
package import Cryptography

/// Encrypts one message for one browser (RFC 8291) as a single record of `aes128gcm` (RFC 8188).
///
/// salt (16) ‖ record size (4) ‖ 65 (1) ‖ sender public key (65) ‖ AES-128-GCM(payload ‖ 2 ‖ zeros) (…) ‖ tag (16)
package enum WebPushContent {
    /// The maximum number of bytes of a body, which every push service accepts.
    package static let limit = 4096

    /// The number of bytes of a body in addition to the padded payload: header, delimiter and tag.
    static let overhead = 86 + 1 + AESGCM.tagLength

    /// The record size, which must exceed the length of the one record.
    private static let recordSize: UInt32 = 4096

    /// The random values of one message.
    package struct EphemeralKeys: Sendable {
        package let key: PrivateKey
        package let salt: [UInt8]

        package init(key: PrivateKey, salt: [UInt8]) {
            self.key = key
            self.salt = salt
        }

        package static func draw() throws(CryptographyError) -> EphemeralKeys {
            EphemeralKeys(key: try PrivateKey.generateP256(), salt: try SecureRandom.bytes(16))
        }
    }

    /// Returns the body of a request; `payload` is padded with zeros up to `length`.
    ///
    /// Throws `invalidKey` for a browser's key that is not a point of the curve, and `encryption` for a payload that
    /// does not fit.
    package static func body(
        _ payload: [UInt8],
        paddedTo length: Int,
        for keys: WebPushKeys,
        with freshness: EphemeralKeys
    ) throws(CryptographyError) -> [UInt8] {
        let ours = try freshness.key.p256Point()
        let theirs = try PublicKey(p256Point: keys.publicKey)
        let shared = try freshness.key.sharedSecret(with: theirs)
        let material = try HKDF.expand(
            key: HKDF.extract(secret: shared, salt: keys.secret),
            info: Array("WebPush: info\0".utf8) + keys.publicKey + ours,
            count: 32
        )
        let key = HKDF.extract(secret: material, salt: freshness.salt)
        let padding = [UInt8](repeating: 0, count: max(0, length - payload.count))
        let record = try AESGCM.seal(
            payload + [2] + padding,
            key: HKDF.expand(key: key, info: Array("Content-Encoding: aes128gcm\0".utf8), count: AESGCM.keyLength),
            nonce: HKDF.expand(key: key, info: Array("Content-Encoding: nonce\0".utf8), count: AESGCM.nonceLength)
        )
        let size = withUnsafeBytes(of: recordSize.bigEndian) { Array($0) }
        return freshness.salt + size + [UInt8(truncatingIfNeeded: ours.count)] + ours + record
    }
}

/// The lengths to which payloads are padded, so that the length of a body does not reveal its content.
package enum WebPushPadding {
    /// The lengths 512, 1,024, 2,048, 2,560 and 3,993 bytes; the last one fills a body of 4,096.
    package static let lengths = [512, 1024, 2048, 2560, WebPushContent.limit - WebPushContent.overhead]

    /// Returns the maximum payload length of a push service.
    ///
    /// Mozilla's service forwards messages for phones through a bridge that accepts 2,744 bytes, and an endpoint does
    /// not show whether it is a phone.
    static func longest(at host: String) -> Int {
        host.hasSuffix(".mozilla.com") ? lengths[3] : lengths[4]
    }

    /// Returns the shortest length into which a number of bytes fits.
    static func length(for count: Int) -> Int { lengths.first { $0 >= count } ?? count }
}

/// The JSON for a service worker; `docs/providers.md` is its contract.
///
/// The same message always gives the same bytes; `SizeLimitedBody` describes the reduction of long messages.
package enum WebPushPayload {
    /// Returns the payload; `nil` if the message does not fit into `limit` bytes even when reduced.
    package static func bytes(of message: PushMessage, atMost limit: Int) -> [UInt8]? {
        SizeLimitedBody.bytes(of: message, limit: limit) { parts, words in layout(message, words, parts) }
    }

    private static func layout(_ message: PushMessage, _ words: PushWords, _ parts: PayloadReduction) -> [UInt8] {
        var json = JSONBytes(capacity: 512)
        json.add("id", message.notification.text)
        json.add("app", message.app.text)
        json.add("type", message.type.text)
        json.add("priority", message.priority.rawValue)
        words.addTitle(to: &json)
        words.addBody(to: &json)
        json.add("tag", message.replacementID)
        json.add("url", .webLink, of: message.texts)
        if parts != .withoutDataAndImage { json.add("image", .imageURL, of: message.texts) }
        if let badge = message.badge { json.add("badge", max(0, badge)) }
        json.add("expiresAt", message.expiry?.description)
        let hasData = parts == .everything
        BellhopFields(message: message, form: .values, taken: names).write(into: &json, withMetadata: hasData)
        if hasData, message.wantsData { json.add("data", json: .data, of: message.texts) }
        if !hasData, message.hasOwnData { json.add("dataOmitted", true) }
        return json.finished()
    }

    /// The names that a service worker needs.
    ///
    /// They stay the same if an app's catalogue renames other fields; `url` is the field `link` of other providers.
    private static let names = [
        "id", "app", "type", "priority", "title", "body", "tag", "url", "image", "badge", "expiresAt", "link", "data",
        "dataOmitted",
    ]
}
