import BellhopRules
import HTTPTransfer

extension SenderAssembly {
    mutating func sender(_ apns: ProviderConfiguration.APNs, for app: AppID) throws(TransferError) -> APNsSender {
        var sender = APNsSender(
            topic: apns.topic,
            tokens: tokens(apns.key),
            production: try service(apns, apns.endpoint, name: "apns"),
            sandbox: try service(apns, apns.sandboxEndpoint, name: "apns-sandbox"),
            metrics: surroundings.metrics?.forSender(.apns, app: app)
        )
        sender.window = apns.window
        return sender
    }

    /// APNs ties a connection to the team and key of its first push, so those who have both share one.
    private mutating func service(
        _ apns: ProviderConfiguration.APNs,
        _ endpoint: String,
        name: String
    ) throws(TransferError) -> APNsSender.Service {
        let need = TransportNeed(
            kind: .pushesOfKey(apns.key.fingerprint),
            endpoint: endpoint,
            authoritiesFile: apns.authoritiesFile,
            connections: apns.connections,
            window: apns.window,
            name: name
        )
        return APNsSender.Service(endpoint: endpoint, transport: try transport(need))
    }

    private mutating func tokens(_ key: APNsKey) -> ProviderTokens {
        if let tokens = providerTokens[key.fingerprint] { return tokens }
        let tokens = ProviderTokens(key, time: surroundings.time, logger: surroundings.logger)
        providerTokens[key.fingerprint] = tokens
        return tokens
    }
}
