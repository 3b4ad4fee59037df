import BellhopRules
import Cryptography

/// A service account in the form that Google issues.
///
/// It exists only in this process.
struct SandboxServiceAccount: Sendable {
    let projectID: String
    let keyID: String
    let key: GeneratedKey

    var email: String { "bellhop-sandbox@\(projectID).iam.gserviceaccount.com" }

    /// One key for all accounts of the process, because generating it takes a tenth of a second and a test run has many
    /// sandboxes.
    private static let sharedKey = Result { () throws(SandboxError) in try GeneratedKey.generateRSA() }

    /// Creates an account of a project, with its own key id.
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

    /// Returns the file for a sender; its private key signs assertions.
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
