import BellhopRules

extension ProviderReader {
    func fcm(_ scope: ProviderScope) -> ProviderConfiguration.FCM? {
        scope.expectKeys(["serviceAccount", "endpoint", "tokenURI", "caFile", "connections", "window", "budget"])
        let endpoint = scope.address("endpoint")
        let tokenURI = scope.address("tokenURI")
        let authorities = authoritiesFile(scope)
        let connections = scope.count("connections", 1...64)
        let window = scope.count("window", 1...10_000)
        let budget = scope.budget()
        guard let account = serviceAccount(scope) else { return nil }
        return ProviderConfiguration.FCM(
            serviceAccount: account,
            endpoint: endpoint ?? "https://fcm.googleapis.com",
            tokenURI: tokenURI ?? account.tokenURI,
            authoritiesFile: authorities,
            connections: connections ?? 5,
            window: window ?? 500,
            budget: PushBudget(name: "fcm/\(account.projectID)", budget ?? .init(pushes: 600_000, seconds: 60))
        )
    }

    private func serviceAccount(_ scope: ProviderScope) -> ServiceAccount? {
        let key = "serviceAccount"
        guard scope.object[key] != nil else {
            scope.report(key, "missing: expected the path of the service account's JSON file")
            return nil
        }
        guard let path = scope.path(key).map(resolved) else { return nil }
        switch secret(path) {
        case .failure(let problem):
            let advice = "generate a key in the Firebase console (project settings, service accounts) and put it there"
            scope.report(key, "\(path) \(problem.text): \(advice)")
            return nil
        case .success(let bytes):
            switch ServiceAccount.read(bytes) {
            case .success(let account): return account
            case .failure(let faults):
                for sentence in faults.sentences { scope.report(key, "\(path): \(sentence)") }
                return nil
            }
        }
    }
}
