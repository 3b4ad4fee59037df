import BellhopRules
import ServiceRuntime

extension ProviderReader {
    func expo(_ scope: ProviderScope, of app: AppID) -> ProviderConfiguration.Expo? {
        scope.expectKeys(["accessTokenFile", "endpoint", "caFile", "connections", "window", "budget"])
        let accessToken = accessToken(scope)
        let endpoint = scope.address("endpoint")
        let authorities = authoritiesFile(scope)
        let connections = scope.count("connections", 1...64)
        let window = scope.count("window", 1...10_000)
        let budget = scope.budget()
        return ProviderConfiguration.Expo(
            accessToken: accessToken,
            endpoint: endpoint ?? "https://exp.host",
            authoritiesFile: authorities,
            connections: connections ?? 1,
            window: window ?? 600,
            budget: PushBudget(name: "expo/\(app.text)", budget ?? .init(pushes: 600, seconds: 1))
        )
    }

    /// The text of the file, without the line end that editors put there.
    private func accessToken(_ scope: ProviderScope) -> Secret? {
        let key = "accessTokenFile"
        guard let path = scope.path(key).map(resolved) else { return nil }
        let advice = "create an access token in the Expo account's settings and put it there"
        switch secret(path) {
        case .failure(let problem): scope.report(key, "\(path) \(problem.text): \(advice)")
        case .success(let bytes):
            let text = bytes.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed()
            guard (1...4096).contains(text.count), text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                scope.report(key, "\(path) does not hold one access token: \(advice)")
                return nil
            }
            return Secret(String(decoding: text, as: UTF8.self))
        }
        return nil
    }
}
