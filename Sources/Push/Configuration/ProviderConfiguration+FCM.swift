import BellhopRules
import HTTPTransfer

extension ProviderConfiguration {
    /// One app's configuration for FCM.
    package struct FCM: Sendable {
        package let serviceAccount: ServiceAccount

        /// The scheme, host and port, without a trailing slash.
        ///
        /// Default: `https://fcm.googleapis.com`.
        package let endpoint: String

        /// The address from which access tokens are fetched.
        ///
        /// Default: the address in the account.
        package let tokenURI: String

        /// The connections and the window.
        ///
        /// Default: 5 connections, and 500 requests, which five connections of 100 streams can carry.
        package let reach: ConnectionSettings

        /// The project's rate limit.
        ///
        /// Default: Google's quota, 600,000 per minute.
        package let budget: PushBudget
    }
}

extension ProviderReader {
    func fcm(_ scope: JSONScope) -> ProviderConfiguration.FCM? {
        scope.expectKeys(["serviceAccount", "endpoint", "tokenURI", "caFile", "connections", "window", "budget"])
        let endpoint = scope.address("endpoint")
        let tokenURI = scope.address("tokenURI")
        let reach = reach(scope, connections: 5, window: 500)
        let budget = scope.budget()
        let advice = "generate a key in the Firebase console (project settings, service accounts) and put it there"
        let content = "the service account in JSON"
        let account = secret("serviceAccount", scope, of: content, advice: advice) { (bytes) throws(SecretFault) in
            switch ServiceAccount.read(bytes) {
            case .success(let account): return account
            case .failure(let faults): throw SecretFault(sentences: faults.faults.map(\.description))
            }
        }
        guard let account else { return nil }
        return ProviderConfiguration.FCM(
            serviceAccount: account,
            endpoint: endpoint ?? "https://fcm.googleapis.com",
            tokenURI: tokenURI ?? account.tokenURI,
            reach: reach,
            budget: PushBudget(name: "fcm/\(account.projectID)", budget ?? .init(pushes: 600_000, seconds: 60))
        )
    }
}

extension SenderAssembly {
    mutating func sender(_ fcm: ProviderConfiguration.FCM, for app: AppID) throws(TransferError) -> FCMSender {
        let need = TransportNeed(kind: .pushes(app), endpoint: fcm.endpoint, reach: fcm.reach, name: "fcm")
        return FCMSender(
            endpoint: fcm.endpoint,
            projectID: fcm.serviceAccount.projectID,
            tokens: try tokens(fcm),
            transport: try transport(need),
            time: context.time,
            metrics: context.metrics?.forSender(.fcm, app: app),
            window: fcm.reach.window,
            budget: fcm.budget
        )
    }

    private mutating func tokens(_ fcm: ProviderConfiguration.FCM) throws(TransferError) -> AccessTokenSource {
        let account = fcm.serviceAccount
        let authorities = fcm.reach.authoritiesFile
        let key = AccountKey(account: account.fingerprint, endpoint: fcm.tokenURI, authoritiesFile: authorities)
        if let source = sources[key] { return source }
        let reach = ProviderConfiguration.ConnectionSettings(authoritiesFile: authorities, connections: 1, window: 8)
        let need = TransportNeed(kind: .errands, endpoint: "tokens", reach: reach, name: "tokens")
        let source = AccessTokenSource(
            exchange: TokenExchange(account: account, endpoint: fcm.tokenURI),
            transport: try transport(need),
            time: context.time,
            logger: context.logger
        )
        sources[key] = source
        return source
    }
}
