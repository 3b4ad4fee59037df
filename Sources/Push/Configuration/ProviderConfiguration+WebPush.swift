import BellhopRules
import Cryptography
package import HTTPTransfer

extension ProviderConfiguration {
    /// One app's configuration for browsers.
    package struct WebPush: Sendable {
        /// The contact address of the operator for push services: a `mailto:` or `https:` URL.
        package let subject: String

        package let keys: VAPIDKeys

        /// The allowed hosts of push services.
        ///
        /// Default: those of the known browsers, at port 443.
        package let hosts: PushServiceHosts

        /// The allowed addresses.
        ///
        /// Default: public addresses only.
        package let addressPolicy: AddressPolicy

        /// The connections to one host, and the window.
        ///
        /// Default: 2 connections, 500 requests.
        package let reach: ConnectionSettings
    }
}

extension ProviderReader {
    func webPush(_ scope: JSONScope) -> ProviderConfiguration.WebPush? {
        scope.expectKeys([
            "subject", "keys", "defaultKey", "allowedHosts", "endpointPort", "allowPrivateAddresses", "caFile",
            "connections", "window",
        ])
        let rule = "a mailto: or https: URL under which push services reach you, not on localhost"
        let subject = scope.text("subject", rule, required: true, Self.isSubject)
        let keys = vapidKeys(scope)
        let hosts = endpointHosts(scope)
        let allowsPrivate = scope.flag("allowPrivateAddresses")
        let reach = reach(scope, connections: 2, window: 500)
        guard let subject, let keys else { return nil }
        return ProviderConfiguration.WebPush(
            subject: subject,
            keys: keys,
            hosts: hosts,
            addressPolicy: allowsPrivate == true ? .any : .publicAddressesOnly,
            reach: reach
        )
    }

    /// Returns whether a text is a valid contact address.
    ///
    /// Apple rejects spaces, brackets and localhost.
    private static func isSubject(_ text: String) -> Bool {
        guard text.utf8.count <= 254, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"<>\"\\".utf8.contains($0) })
        else { return false }
        if text.hasPrefix("mailto:") {
            return EmailAddress(validating: String(text.dropFirst("mailto:".count))) != nil
        }
        let host = WebPushEndpoint(validating: text.hasSuffix("/") ? text : text + "/")?.host
        return host.map { $0 != "localhost" } ?? false
    }

    /// Reads the allowed hosts of the app's push services.
    func endpointHosts(_ scope: JSONScope) -> PushServiceHosts {
        let port = scope.wholeNumber("endpointPort", 1...65_535).flatMap(UInt16.init(exactly:))
        let entries = scope.value("allowedHosts", "a list of hosts, each \(PushServiceHosts.rule)") { value in
            value.array.flatMap { elements in
                let texts = elements.compactMap(\.string)
                return texts.count == elements.count && !texts.isEmpty ? PushServiceHosts(texts) : nil
            }
        }
        return (entries ?? .known).at(port: port ?? 443)
    }

    func vapidKeys(_ scope: JSONScope) -> VAPIDKeys? {
        let expected = "a list with a key; bellhop keys vapid makes one"
        if scope.object["keys"]?.array?.isEmpty == true { scope.report("keys", expected: expected) }
        var keys: [VAPIDKey] = []
        for entry in scope.scopes("keys", expected, required: true) {
            guard let key = vapidKey(entry) else { continue }
            if keys.contains(where: { $0.id == key.id }) { entry.report("id", "names a key twice") }
            keys.append(key)
        }
        let usual = scope.value("defaultKey", "the id of one of the keys") { value in
            keys.first { $0.id == value.string }
        }
        return (usual ?? keys.first).map { VAPIDKeys(keys, usual: $0, isUsualNamed: usual != nil) }
    }

    private func vapidKey(_ scope: JSONScope) -> VAPIDKey? {
        scope.expectKeys(["id", "privateKeyFile"])
        let id = scope.text("id", WebPushKeys.keyIDRule, required: true, WebPushKeys.isKeyID)
        let (file, advice) = ("privateKeyFile", "bellhop keys vapid makes such a file")
        let key = secret(file, scope, of: "the key", advice: advice) { (bytes) throws(SecretFault) -> VAPIDKey? in
            guard let id else { return nil }
            do {
                return try VAPIDKey(id: id, file: bytes)
            } catch {
                throw SecretFault(sentences: [": \(error)"])
            }
        }
        return key ?? nil
    }
}

extension SenderAssembly {
    /// Creates the sender of an app.
    ///
    /// One transport carries the requests to all push services, and each service gets at most a quarter of its window.
    mutating func sender(
        _ webPush: ProviderConfiguration.WebPush,
        for app: AppID
    ) throws(TransferError) -> WebPushSender {
        var need = TransportNeed(kind: .pushes(app), endpoint: "webpush", reach: webPush.reach, name: "webpush")
        need.addressPolicy = webPush.addressPolicy
        need.hostsPerWindow = 4
        let tokens = VAPIDTokens(subject: webPush.subject)
        return WebPushSender(
            builder: WebPushRequestBuilder(hosts: webPush.hosts, keys: webPush.keys, tokens: tokens),
            transport: try transport(need),
            time: context.time,
            metrics: context.metrics?.forSender(.webpush, app: app),
            window: webPush.reach.window
        )
    }
}
