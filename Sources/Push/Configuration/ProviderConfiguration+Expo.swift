import BellhopRules
import HTTPTransfer
package import ServiceRuntime

extension ProviderConfiguration {
    /// How one app reaches Expo's push service.
    package struct Expo: Sendable {
        /// For projects with "enhanced push security"; nil sends without one.
        package let accessToken: Secret?

        /// Scheme, host and port, without a slash at the end.
        ///
        /// Default: `https://exp.host`.
        package let endpoint: String

        /// The window counts messages.
        ///
        /// Default: one connection, since HTTP/2 carries all requests on it, and 600 messages, which is what Expo takes
        /// of a project in a second.
        package let reach: Reach

        /// What the project may send.
        ///
        /// Default: Expo's own limit, 600 a second.
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

    /// The text of the file, without the line end that editors put there.
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
    /// The sender of an app, and who asks for its receipts: both over one transport.
    mutating func expo(
        _ expo: ProviderConfiguration.Expo,
        for app: AppID
    ) throws(TransferError) -> (sender: ExpoSender, receipts: ExpoReceipts) {
        let reach = ProviderConfiguration.Reach(
            authoritiesFile: expo.reach.authoritiesFile,
            connections: expo.reach.connections,
            // A message that comes alone is a request of its own, so there must be room for more than full ones.
            window: max(Self.fewestRequests, expo.reach.window / ExpoRound.limit)
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
            time: surroundings.time,
            logger: surroundings.logger,
            metrics: surroundings.metrics?.forSender(.expo, app: app),
            window: expo.reach.window,
            budget: expo.budget
        )
        return (sender, ExpoReceipts(service: service))
    }

    /// As many as Expo's own client keeps in flight.
    private static let fewestRequests = 6
}
