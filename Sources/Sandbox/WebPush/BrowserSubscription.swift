import BellhopRules
import Cryptography

/// A browser's subscription, including its private key, which exists only in this process.
struct BrowserSubscription: Sendable {
    let id: String
    let key: GeneratedKey
    /// The point of `key`.
    let publicKey: [UInt8]
    let secret: [UInt8]
    /// The key with which the page subscribed; `nil` if it accepts any key.
    let applicationServerKey: String?

    init(applicationServerKey: String?) throws(SandboxError) {
        key = try GeneratedKey.generateP256()
        publicKey = try BrowserKey.point(of: key)
        do {
            id = Base64URL.encode(try SecureRandom.bytes(18))
            secret = try SecureRandom.bytes(16)
        } catch {
            throw SandboxError(.cryptography, attempted: "making a subscription", cameBack: "\(error)")
        }
        self.applicationServerKey = applicationServerKey
    }

    /// Decrypts a body as the browser would, and returns its payload and its padded length, or the reason why it is
    /// unreadable.
    func opened(_ body: [UInt8]) -> Result<Opened, Unreadable> {
        guard body.count > 86 + 17 else { return .failure(Unreadable("the body is too short for a record")) }
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        guard body[20] == 65 else { return .failure(Unreadable("the key id is not a point of 65 bytes")) }
        let (point, sealed) = (body[21..<86], body[86...])
        guard recordSize >= 18, sealed.count < recordSize else {
            return .failure(Unreadable("the record is as long as its size, or longer: it cannot be the last one"))
        }
        guard let shared = BrowserKey.secret(of: key, with: point) else {
            return .failure(Unreadable("the sender's key is no point of P-256"))
        }
        let info = Array("WebPush: info\0".utf8) + publicKey + Array(point)
        let salt = Array(body[..<16])
        guard let material = BrowserKey.derived(shared, salt: secret, info: info, count: 32),
            let contentKey = BrowserKey.derived(
                material,
                salt: salt,
                info: Array("Content-Encoding: aes128gcm\0".utf8),
                count: 16
            ),
            let nonce = BrowserKey.derived(
                material,
                salt: salt,
                info: Array("Content-Encoding: nonce\0".utf8),
                count: 12
            ),
            let padded = BrowserKey.opened(sealed, key: contentKey, nonce: nonce)
        else { return .failure(Unreadable("the browser cannot decrypt it")) }
        guard let delimiter = padded.lastIndex(where: { $0 != 0 }), padded[delimiter] == 2 else {
            return .failure(Unreadable("the padding has no delimiter of a last record"))
        }
        return .success(Opened(payload: Array(padded[..<delimiter]), paddedLength: padded.count - 1))
    }

    struct Opened {
        let payload: [UInt8]
        /// The length of the payload with its padding, without the delimiter.
        let paddedLength: Int
    }

    struct Unreadable: Error {
        let text: String

        init(_ text: String) { self.text = text }
    }
}
