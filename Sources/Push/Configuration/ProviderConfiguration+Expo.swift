import BellhopRules
import HTTPTransfer
package import ServiceRuntime

extension ProviderConfiguration {
    /// One app's configuration for Expo's push service.
    package struct Expo: Sendable {
        /// The access token for projects with "enhanced push security"; `nil` sends without one.
        package let accessToken: Secret?

        /// The scheme, host and port, without a trailing slash.
        ///
        /// Default: `https://exp.host`.
        package let endpoint: String

        /// The connections and the window, which counts messages.
        ///
        /// Default: one connection, because HTTP/2 carries all requests on it, and 600 messages, which is Expo's limit
        /// for a project in one second.
        package let reach: ConnectionSettings

        /// The project's rate limit.
        ///
        /// Default: Expo's limit, 600 per second.
        package let budget: PushBudget
    }
}

extension ProviderReader {
    func expo(_ scope: JSONScope, of app: AppID) -> ProviderConfiguration.Expo? {
        scope.expectKeys(["accessTokenFile", "endpoint", "caFile", "connections", "window", "budget"])
        return ProviderConfiguration.Expo(
            accessToken: accessToken(scope),
            endpoint: scope.address("endpoint") ?? "https://exp.host",
            reach: reach(scope, connections: 1, window: 600),
            budget: PushBudget(name: "expo/\(app.text)", scope.budget() ?? .init(pushes: 600, seconds: 1))
        )
    }

    /// Reads the text of the file without the line end that editors add.
    private func accessToken(_ scope: JSONScope) -> Secret? {
        let advice = "create an access token in the Expo account's settings and put it there"
        let key = "accessTokenFile"
        return secret(key, scope, of: "a token", required: false, advice: advice) { (bytes) throws(SecretFault) in
            let text = bytes.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed()
            guard (1...4096).contains(text.count), text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw SecretFault(sentences: [" does not hold one access token: \(advice)"])
            }
            return Secret(String(decoding: text, as: UTF8.self))
        }
    }
}

extension SenderAssembly {
    /// Creates the sender of an app and the source of its receipts, which share one transport.
    mutating func expo(
        _ expo: ProviderConfiguration.Expo,
        for app: AppID
    ) throws(TransferError) -> (sender: ExpoSender, receipts: ExpoReceipts) {
        let reach = ProviderConfiguration.ConnectionSettings(
            authoritiesFile: expo.reach.authoritiesFile,
            connections: expo.reach.connections,
            // A single message may need a separate request, so the window must have room for more than full requests.
            window: max(Self.fewestRequests, expo.reach.window / ExpoBatchProgress.limit)
        )
        var need = TransportNeed(kind: .pushes(app), endpoint: expo.endpoint, reach: reach, name: "expo")
        need.longestAnswer = ExpoService.largestAnswer
        let service = ExpoService(
            endpoint: expo.endpoint,
            accessToken: expo.accessToken,
            transport: try transport(need)
        )
        let sender = ExpoSender(
            service: service,
            time: context.time,
            logger: context.logger,
            metrics: context.metrics?.forSender(.expo, app: app),
            window: expo.reach.window,
            budget: expo.budget
        )
        return (sender, ExpoReceipts(service: service))
    }

    /// The number of requests that Expo's client keeps in flight.
    private static let fewestRequests = 6
}
