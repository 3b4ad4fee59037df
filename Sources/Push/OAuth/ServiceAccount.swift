import BellhopRules
package import Cryptography

/// An account that Google gives to a program: whoever holds its key may send for its project.
package struct ServiceAccount: Sendable {
    package let projectID: String
    package let email: String
    package let keyID: String
    package let key: PrivateKey

    /// Where assertions are exchanged for access tokens; they are addressed to it, too.
    package let tokenURI: String

    /// The same for what signs the same assertions, and for nothing else: what may share an access token.
    ///
    /// The key itself is a part of it: nothing keeps two files from giving two keys one name.
    package let fingerprint: Digest
}

/// Everything that is wrong with a service account's file; never a part of the key.
package struct ServiceAccountFaults: Error, Hashable, Sendable {
    /// One sentence for each.
    package let sentences: [String]
}

extension ServiceAccount {
    /// Reads the JSON file that the Firebase console gives out.
    package static func read(_ bytes: [UInt8]) -> Result<ServiceAccount, ServiceAccountFaults> {
        switch JSONParser(limits: .init(bytes: 64 * 1024, depth: 8)).parse(bytes) {
        case .failure(let fault):
            return .failure(ServiceAccountFaults(sentences: ["it is not JSON: \(fault.message)"]))
        case .success(let value):
            guard let object = value.object else {
                return .failure(ServiceAccountFaults(sentences: ["expected an object, found \(value.typeName)"]))
            }
            var reader = ServiceAccountReader(object: object)
            return reader.account().map(Result.success) ?? .failure(ServiceAccountFaults(sentences: reader.faults))
        }
    }
}

/// Takes the file apart and notes every fault.
private struct ServiceAccountReader {
    let object: JSONObject
    var faults: [String] = []

    /// Nil where a fault was noted.
    mutating func account() -> ServiceAccount? {
        _ = text("type", "\"service_account\"") { $0 == "service_account" }
        let project = text("project_id", "a project's id of letters, digits, -, . and :", Self.isProjectID)
        let email = text("client_email", "an e-mail address", Self.isAddress)
        let keyID = text("private_key_id", "the key's id", Self.isVisible)
        let tokenURI = text("token_uri", "an https URL", ServiceAddress.isSecure)
        let key = self.key()
        guard faults.isEmpty, let project, let email, let keyID, let tokenURI, let key else { return nil }
        return ServiceAccount(
            projectID: project,
            email: email,
            keyID: keyID,
            key: key.key,
            tokenURI: tokenURI,
            fingerprint: SHA256.digest(of: Array([email, keyID, tokenURI, key.pem].joined(separator: "\u{0}").utf8))
        )
    }

    private mutating func text(_ name: String, _ expected: String, _ isRight: (String) -> Bool) -> String? {
        guard let text = object[name]?.string, isRight(text) else {
            let found = object[name].map { "found another \($0.typeName)" } ?? "it is missing"
            faults.append("\(name): expected \(expected), \(found)")
            return nil
        }
        return text
    }

    private mutating func key() -> (key: PrivateKey, pem: String)? {
        guard let pem = text("private_key", "an RSA key in PEM", { !$0.isEmpty }) else { return nil }
        do {
            let key = try PrivateKey(pem: Array(pem.utf8))
            if key.kind == .rsa { return (key, pem) }
            faults.append("private_key: expected an RSA key, found one of another kind")
        } catch {
            faults.append("private_key: \(error)")
        }
        return nil
    }

    private static func isVisible(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static func isAddress(_ text: String) -> Bool {
        isVisible(text) && text.utf8.contains(UInt8(ascii: "@"))
    }

    /// It becomes a part of a path, so nothing in it may end that part.
    private static func isProjectID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
                    || "-.:".contains(Character($0))
            }
    }
}
