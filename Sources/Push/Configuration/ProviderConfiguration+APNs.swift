import BellhopRules
import Cryptography
import HTTPTransfer

extension ProviderConfiguration {
    /// One app's configuration for APNs.
    package struct APNs: Sendable {
        package let key: APNsKey

        /// The app's bundle id.
        package let topic: String

        /// The scheme, host and port for devices in production, without a trailing slash.
        ///
        /// Default: `https://api.push.apple.com`.
        package let endpoint: String

        /// The scheme, host and port for development builds, without a trailing slash.
        ///
        /// Default: `https://api.sandbox.push.apple.com`.
        package let sandboxEndpoint: String

        /// The connections and the window.
        ///
        /// Default: 5 connections to each environment, 500 requests.
        package let reach: ConnectionSettings
    }
}

extension ProviderReader {
    func apns(_ scope: JSONScope) -> ProviderConfiguration.APNs? {
        scope.expectKeys([
            "key", "keyID", "teamID", "topic", "endpoint", "sandboxEndpoint", "caFile", "connections", "window",
        ])
        let endpoint = scope.address("endpoint")
        let sandboxEndpoint = scope.address("sandboxEndpoint")
        let reach = reach(scope, connections: 5, window: 500)
        let idRule = "the ten capitals and digits that Apple shows next to it"
        let teamID = scope.text("teamID", "\(idRule) (membership details)", required: true, APNsKey.isID)
        let keyID = scope.text("keyID", "\(idRule) (keys)", required: true, APNsKey.isID)
        let bundle = "the app's bundle id, such as com.example.app"
        let topic = scope.text("topic", bundle, required: true, Self.isBundleID)
        let advice = "create a key for APNs in the Apple developer account (keys) and put its .p8 file there"
        let content = "the key, .p8"
        let key = secret("key", scope, of: content, advice: advice) { (bytes) throws(SecretFault) -> APNsKey? in
            guard let teamID, let keyID else { return nil }
            do {
                if let key = try APNsKey(teamID: teamID, keyID: keyID, p8: bytes) { return key }
            } catch {
                throw SecretFault(sentences: [": \(error)"])
            }
            throw SecretFault(sentences: [": expected a P-256 key, which APNs' keys are, found one of another kind"])
        }
        guard let key = key ?? nil, let topic else { return nil }
        return ProviderConfiguration.APNs(
            key: key,
            topic: topic,
            endpoint: endpoint ?? "https://api.push.apple.com",
            sandboxEndpoint: sandboxEndpoint ?? "https://api.sandbox.push.apple.com",
            reach: reach
        )
    }

    /// Returns whether a text is a valid bundle id, which becomes a header and names the app.
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

extension SenderAssembly {
    mutating func sender(_ apns: ProviderConfiguration.APNs, for app: AppID) throws(TransferError) -> APNsSender {
        APNsSender(
            topic: apns.topic,
            tokens: tokens(apns.key),
            production: try service(apns, apns.endpoint, name: "apns"),
            sandbox: try service(apns, apns.sandboxEndpoint, name: "apns-sandbox"),
            metrics: context.metrics?.forSender(.apns, app: app),
            window: apns.reach.window
        )
    }

    /// Returns the service for an endpoint.
    ///
    /// APNs ties a connection to the team and key of its first push, so senders with the same team and key share
    /// connections.
    private mutating func service(
        _ apns: ProviderConfiguration.APNs,
        _ endpoint: String,
        name: String
    ) throws(TransferError) -> APNsSender.Service {
        let kind = TransportNeed.Kind.pushesOfKey(apns.key.fingerprint)
        let need = TransportNeed(kind: kind, endpoint: endpoint, reach: apns.reach, name: name)
        return APNsSender.Service(endpoint: endpoint, transport: try transport(need))
    }

    private mutating func tokens(_ key: APNsKey) -> ProviderTokens {
        if let tokens = providerTokens[key.fingerprint] { return tokens }
        let tokens = ProviderTokens(key, time: context.time, logger: context.logger)
        providerTokens[key.fingerprint] = tokens
        return tokens
    }
}
