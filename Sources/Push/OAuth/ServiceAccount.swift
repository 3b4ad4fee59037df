package import BellhopRules
package import Cryptography

/// A Google account for programs.
///
/// The holder of its key can send for its project.
package struct ServiceAccount: Sendable {
    package let projectID: String
    package let email: String
    package let keyID: String
    package let key: PrivateKey

    /// The address at which assertions are exchanged for access tokens; it is also the audience of the assertions.
    package let tokenURI: String

    /// Identifies accounts that sign the same assertions and may share an access token.
    ///
    /// The key is a part of it, because two files may use one name for two keys.
    package let fingerprint: Digest
}

extension ServiceAccount {
    /// Reads the JSON file that the Firebase console issues; faults never contain a part of the key.
    package static func read(_ bytes: [UInt8]) -> Result<ServiceAccount, DocumentFaults> {
        let limits = JSONParser.Limits(bytes: 64 * 1024, depth: 8)
        let reading = DocumentReading(bytes, file: "", dialect: .strict, limits: limits)
        return reading.result(reading.scope().flatMap(account))
    }

    private static func account(_ scope: JSONScope) -> ServiceAccount? {
        _ = scope.text("type", "\"service_account\"", required: true) { $0 == "service_account" }
        let project = "a project's id of letters, digits, -, . and :"
        let projectID = scope.text("project_id", project, required: true, isProjectID)
        let email = scope.text("client_email", "an e-mail address", required: true, isAddress)
        let keyID = scope.text("private_key_id", "the key's id", required: true, isVisible)
        let tokenURI = scope.text("token_uri", "an https URL", required: true, ServiceAddress.isSecure)
        let pem = scope.text("private_key", "an RSA key in PEM", required: true) { !$0.isEmpty }
        let key = pem.flatMap { Self.key($0, scope) }
        guard let projectID, let email, let keyID, let tokenURI, let pem, let key else { return nil }
        return ServiceAccount(
            projectID: projectID,
            email: email,
            keyID: keyID,
            key: key,
            tokenURI: tokenURI,
            fingerprint: SHA256.digest(of: Array([email, keyID, tokenURI, pem].joined(separator: "\u{0}").utf8))
        )
    }

    private static func key(_ pem: String, _ scope: JSONScope) -> PrivateKey? {
        do {
            let key = try PrivateKey(pem: Array(pem.utf8))
            if key.kind == .rsa { return key }
            scope.report("private_key", "expected an RSA key, found one of another kind")
        } catch {
            scope.report("private_key", "\(error)")
        }
        return nil
    }

    private static func isVisible(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static func isAddress(_ text: String) -> Bool {
        isVisible(text) && text.utf8.contains(UInt8(ascii: "@"))
    }

    /// Returns whether a text is a valid project id.
    ///
    /// It becomes a part of a path, so it must not contain characters that end the part.
    private static func isProjectID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
                    || "-.:".contains(Character($0))
            }
    }
}
