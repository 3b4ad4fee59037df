import BellhopRules
import Cryptography

extension ProviderReader {
    func apns(_ scope: ProviderScope) -> ProviderConfiguration.APNs? {
        scope.expectKeys([
            "key", "keyID", "teamID", "topic", "endpoint", "sandboxEndpoint", "caFile", "connections", "window",
        ])
        let endpoint = scope.address("endpoint")
        let sandboxEndpoint = scope.address("sandboxEndpoint")
        let authorities = authoritiesFile(scope)
        let connections = scope.count("connections", 1...64)
        let window = scope.count("window", 1...10_000)
        let idRule = "the ten capitals and digits that Apple shows beside it"
        let teamID = required("teamID", "\(idRule) (membership details)", scope, APNsKey.isID)
        let keyID = required("keyID", "\(idRule) (keys)", scope, APNsKey.isID)
        let topic = required("topic", "the app's bundle id, such as com.example.app", scope, Self.isBundleID)
        guard let bytes = keyFile(scope), let teamID, let keyID, let topic,
            let key = key(bytes, teamID: teamID, keyID: keyID, scope)
        else { return nil }
        return ProviderConfiguration.APNs(
            key: key,
            topic: topic,
            endpoint: endpoint ?? "https://api.push.apple.com",
            sandboxEndpoint: sandboxEndpoint ?? "https://api.sandbox.push.apple.com",
            authoritiesFile: authorities,
            connections: connections ?? 5,
            window: window ?? 500
        )
    }

    private func required(
        _ key: String,
        _ expected: String,
        _ scope: ProviderScope,
        _ isRight: (String) -> Bool
    ) -> String? {
        guard scope.object[key] != nil else {
            scope.report(key, "missing: expected \(expected)")
            return nil
        }
        return scope.value(key, expected) { value in value.string.flatMap { isRight($0) ? $0 : nil } }
    }

    private func keyFile(_ scope: ProviderScope) -> (path: String, bytes: [UInt8])? {
        guard scope.object["key"] != nil else {
            scope.report("key", "missing: expected the path of the key's .p8 file")
            return nil
        }
        guard let path = scope.path("key").map(resolved) else { return nil }
        switch secret(path) {
        case .success(let bytes): return (path, bytes)
        case .failure(let problem):
            let advice = "create a key for APNs in the Apple developer account (keys) and put its .p8 file there"
            scope.report("key", "\(path) \(problem.text): \(advice)")
            return nil
        }
    }

    private func key(
        _ file: (path: String, bytes: [UInt8]),
        teamID: String,
        keyID: String,
        _ scope: ProviderScope
    ) -> APNsKey? {
        do throws(CryptographyError) {
            if let key = try APNsKey(teamID: teamID, keyID: keyID, p8: file.bytes) { return key }
            scope.report("key", "\(file.path): expected a P-256 key, which APNs' keys are, found one of another kind")
        } catch {
            scope.report("key", "\(file.path): \(error)")
        }
        return nil
    }

    /// It becomes a header, and names the app.
    private static func isBundleID(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"): true
                default: false
                }
            }
    }
}
