import BellhopRules
import HTTPTransfer

extension SenderAssembly {
    /// The sender of an app, and who asks for its receipts: both over one transport.
    mutating func expo(
        _ expo: ProviderConfiguration.Expo,
        for app: AppID
    ) throws(TransferError) -> (sender: ExpoSender, receipts: ExpoReceipts) {
        let need = TransportNeed(
            kind: .pushes(app),
            endpoint: expo.endpoint,
            authoritiesFile: expo.authoritiesFile,
            connections: expo.connections,
            // A message that comes alone is a request of its own, so there must be room for more than full ones.
            window: max(Self.fewestRequests, expo.window / ExpoRound.limit),
            name: "expo"
        )
        let service = ExpoService(
            endpoint: expo.endpoint,
            accessToken: expo.accessToken,
            transport: try transport(need)
        )
        var sender = ExpoSender(
            service: service,
            time: surroundings.time,
            logger: surroundings.logger,
            metrics: surroundings.metrics?.forSender(.expo, app: app)
        )
        sender.window = expo.window
        sender.budget = expo.budget
        return (sender, ExpoReceipts(service: service))
    }

    /// As many as Expo's own client keeps in flight.
    private static let fewestRequests = 6
}
