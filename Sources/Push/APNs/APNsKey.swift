import BellhopRules
package import Cryptography

/// The key with which a team signs in at APNs.
///
/// The holder of the key can push to all of the team's apps.
package struct APNsKey: Sendable {
    package let teamID: String
    package let keyID: String
    package let key: PrivateKey

    /// Identifies the key and its ids: equal fingerprints may share a token and connections.
    package let fingerprint: Digest

    /// Creates the key from the `.p8` file's bytes and from ids that satisfy `isID`; `nil` for a key that is not on
    /// P-256.
    package init?(teamID: String, keyID: String, p8: [UInt8]) throws(CryptographyError) {
        let key = try PrivateKey(pem: p8)
        guard key.kind == .p256 else { return nil }
        self.teamID = teamID
        self.keyID = keyID
        self.key = key
        fingerprint = SHA256.digest(of: Array("\(teamID)\u{0}\(keyID)\u{0}".utf8) + p8)
    }

    /// Returns whether a text has the form of Apple's ids for teams and keys: ten capitals and digits.
    static func isID(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    }
}
