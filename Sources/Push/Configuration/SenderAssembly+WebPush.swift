import BellhopRules
import HTTPTransfer

extension SenderAssembly {
    /// One transport carries the requests to all push services; each gets a quarter of its window at most.
    mutating func sender(_ webPush: ProviderConfiguration.WebPush, for app: AppID) throws(TransferError)
        -> WebPushSender
    {
        let need = TransportNeed(
            kind: .pushes(app),
            endpoint: "webpush",
            authoritiesFile: webPush.authoritiesFile,
            connections: webPush.connections,
            window: webPush.window,
            name: "webpush",
            addressPolicy: webPush.addressPolicy,
            hostsPerWindow: 4
        )
        var sender = WebPushSender(
            hosts: webPush.hosts,
            keys: webPush.keys,
            subject: webPush.subject,
            transport: try transport(need),
            time: surroundings.time,
            metrics: surroundings.metrics?.forSender(.webpush, app: app)
        )
        sender.window = webPush.window
        return sender
    }
}
