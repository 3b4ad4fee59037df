import BellhopRules
import HTTPTransfer

extension SenderAssembly {
    mutating func sender(_ fcm: ProviderConfiguration.FCM, for app: AppID) throws(TransferError) -> FCMSender {
        let need = TransportNeed(
            kind: .pushes(app),
            endpoint: fcm.endpoint,
            authoritiesFile: fcm.authoritiesFile,
            connections: fcm.connections,
            window: fcm.window,
            name: "fcm"
        )
        var sender = FCMSender(
            endpoint: fcm.endpoint,
            projectID: fcm.serviceAccount.projectID,
            tokens: try tokens(fcm),
            transport: try transport(need),
            time: surroundings.time,
            metrics: surroundings.metrics?.forSender(.fcm, app: app)
        )
        sender.window = fcm.window
        sender.budget = fcm.budget
        return sender
    }

    private mutating func tokens(_ fcm: ProviderConfiguration.FCM) throws(TransferError) -> AccessTokenSource {
        let account = fcm.serviceAccount
        let key = TokenKey(
            account: account.fingerprint,
            endpoint: fcm.tokenURI,
            authoritiesFile: fcm.authoritiesFile
        )
        if let source = sources[key] { return source }
        let need = TransportNeed(
            kind: .errands,
            endpoint: "tokens",
            authoritiesFile: fcm.authoritiesFile,
            connections: 1,
            window: 8,
            name: "tokens"
        )
        let source = AccessTokenSource(
            exchange: TokenExchange(account: account, endpoint: fcm.tokenURI),
            transport: try transport(need),
            time: surroundings.time,
            logger: surroundings.logger
        )
        sources[key] = source
        return source
    }
}
