import BellhopRules
import Cryptography

/// A service account as Google hands it out, known to nobody but this process.
struct ServiceAccount: Sendable {
    let projectID: String
    let keyID: String
    let key: GeneratedKey

    var email: String { "bellhop-sandbox@\(projectID).iam.gserviceaccount.com" }

    /// One for all accounts of the process: making it takes a tenth of a second, and a test run has many sandboxes.
    private static let sharedKey = Result { () throws(SandboxError) in try GeneratedKey.generateRSA() }

    /// A fresh account of a project, with a key id of its own.
    init(projectID: String) throws(SandboxError) {
        self.projectID = projectID
        key = try Self.sharedKey.get()
        do {
            keyID = try SecureRandom.bytes(20).map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
        } catch {
            throw SandboxError(.cryptography, attempted: "making a service account", cameBack: "\(error)")
        }
    }

    /// The file that a sender is given; its private key signs assertions.
    func json(tokenURI: String) throws(SandboxError) -> [UInt8] {
        JSONWriter.canonicalBytes(of: [
            "type": "service_account",
            "project_id": .string(projectID),
            "private_key_id": .string(keyID),
            "private_key": .string(try key.pkcs8()),
            "client_email": .string(email),
            "client_id": "100000000000000000001",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": .string(tokenURI),
            "universe_domain": "googleapis.com",
        ])
    }
}
