import BellhopRules
import Cryptography

extension ProviderReader {
    func webPush(_ scope: ProviderScope) -> ProviderConfiguration.WebPush? {
        scope.expectKeys([
            "subject", "keys", "defaultKey", "allowedHosts", "endpointPort", "allowPrivateAddresses", "caFile",
            "connections", "window",
        ])
        let subject = subject(scope)
        let keys = vapidKeys(scope)
        let hosts = hosts(scope)
        let port = scope.count("endpointPort", 1...65_535).flatMap(UInt16.init(exactly:))
        let allowsPrivate = scope.value("allowPrivateAddresses", "true or false", \.bool)
        let authorities = authoritiesFile(scope)
        let connections = scope.count("connections", 1...64)
        let window = scope.count("window", 1...10_000)
        guard let subject, let keys else { return nil }
        return ProviderConfiguration.WebPush(
            subject: subject,
            keys: keys,
            hosts: hosts.at(port: port ?? 443),
            addressPolicy: allowsPrivate == true ? .any : .publicAddressesOnly,
            authoritiesFile: authorities,
            connections: connections ?? 2,
            window: window ?? 500
        )
    }

    private func subject(_ scope: ProviderScope) -> String? {
        let expected = "a mailto: or https: URL under which push services reach you, not on localhost"
        guard scope.object["subject"] != nil else {
            scope.report("subject", "missing: expected \(expected)")
            return nil
        }
        return scope.value("subject", expected) { value in
            value.string.flatMap { Self.isSubject($0) ? $0 : nil }
        }
    }

    /// Apple refuses spaces, brackets and localhost.
    private static func isSubject(_ text: String) -> Bool {
        guard text.utf8.count <= 254, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"<>\"\\".utf8.contains($0) })
        else { return false }
        if text.hasPrefix("mailto:") {
            let address = EmailAddress(validating: String(text.dropFirst("mailto:".count)))
            return address.map { !$0.text.hasSuffix("@localhost") } ?? false
        }
        let host = WebPushEndpoint(validating: text.hasSuffix("/") ? text : text + "/")?.host
        return host.map { $0 != "localhost" } ?? false
    }

    private func hosts(_ scope: ProviderScope) -> PushServiceHosts {
        let entries = scope.value("allowedHosts", "a list of hosts, each \(PushServiceHosts.rule)") { value in
            value.array.flatMap { elements in
                let texts = elements.compactMap(\.string)
                return texts.count == elements.count && !texts.isEmpty ? PushServiceHosts(texts) : nil
            }
        }
        return entries ?? .known
    }

    private func vapidKeys(_ scope: ProviderScope) -> VAPIDKeys? {
        let elements = scope.object["keys"] == nil ? [] : scope.value("keys", "a list of keys", \.array)
        guard let elements else { return nil }
        guard !elements.isEmpty else {
            scope.report("keys", "missing: expected a list with a key; bellhop keys vapid makes one")
            return nil
        }
        var keys: [VAPIDKey] = []
        for (index, element) in elements.enumerated() {
            let place = scope.place.key("keys").index(index)
            guard let object = element.object else {
                scope.sink.report(place, "expected an object with id and privateKeyFile")
                continue
            }
            guard let key = vapidKey(ProviderScope(object: object, place: place, sink: scope.sink)) else { continue }
            if keys.contains(where: { $0.id == key.id }) { scope.sink.report(place.key("id"), "names a key twice") }
            keys.append(key)
        }
        let usual = scope.value("defaultKey", "the id of one of the keys") { value in
            keys.first { $0.id == value.string }
        }
        return (usual ?? keys.first).map { VAPIDKeys(keys, usual: $0) }
    }

    private func vapidKey(_ scope: ProviderScope) -> VAPIDKey? {
        scope.expectKeys(["id", "privateKeyFile"])
        for key in ["id", "privateKeyFile"] where scope.object[key] == nil { scope.report(key, "missing") }
        let id = scope.value("id", WebPushKeys.keyIDRule) { value in
            value.string.flatMap { WebPushKeys.isKeyID($0) ? $0 : nil }
        }
        guard let path = scope.path("privateKeyFile").map(resolved), let id else { return nil }
        switch secret(path) {
        case .failure(let problem):
            scope.report("privateKeyFile", "\(path) \(problem.text): bellhop keys vapid makes such a file")
            return nil
        case .success(let bytes):
            do {
                return try VAPIDKey(id: id, file: bytes)
            } catch {
                scope.report("privateKeyFile", "\(path): \(error)")
                return nil
            }
        }
    }
}
