import BellhopRules

extension ProviderConfiguration {
    /// Reads the file and the key files that it names; relative paths count from the file's own folder.
    package static func read(file: String) throws(ProviderFaults) -> ProviderConfiguration {
        switch SmallFile.read(file, atMost: ProviderReader.longestFile) {
        case .success(let bytes): try read(bytes, file: file)
        case .failure(let problem):
            throw .whole(file, "the providers' file \(problem.text): check BELLHOP_PROVIDERS")
        }
    }

    /// Reads a text that stands for the file of that path.
    package static func read(_ bytes: [UInt8], file: String) throws(ProviderFaults) -> ProviderConfiguration {
        let limits = JSONParser.Limits(bytes: ProviderReader.longestFile, depth: 16)
        switch PlacedJSON.read(bytes, limits: limits) {
        case .failure(let fault):
            throw ProviderFaults(faults: [
                ProviderFault(
                    file: file,
                    line: fault.line,
                    column: fault.column,
                    pointer: .root,
                    message: fault.code.rawValue
                )
            ])
        case .success(let document):
            let sink = ProviderFaultSink(file: file, document: document)
            let apps = ProviderReader(sink: sink, file: file).apps(document.root)
            guard sink.faults.isEmpty else { throw ProviderFaults(faults: sink.inOrder) }
            return ProviderConfiguration(apps: apps)
        }
    }
}

extension ProviderFaults {
    fileprivate static func whole(_ file: String, _ message: String) -> ProviderFaults {
        ProviderFaults(faults: [ProviderFault(file: file, line: nil, column: nil, pointer: .root, message: message)])
    }
}

/// Walks through the document; what comes out is whole only where nothing was reported.
private struct ProviderReader {
    /// A configuration is small; what is larger is some other file.
    static let longestFile = 1 << 20

    private static let longestKeyFile = 64 * 1024

    let sink: ProviderFaultSink
    let file: String

    func apps(_ root: JSONValue) -> [AppID: ProviderConfiguration.Providers] {
        guard let object = root.object else {
            sink.report(.root, "expected an object with a member for each app, found another \(root.typeName)")
            return [:]
        }
        let scope = ProviderScope(object: object, place: .root, sink: sink)
        var apps: [AppID: ProviderConfiguration.Providers] = [:]
        for member in object.members {
            guard let app = AppID(validating: member.key) else {
                scope.report(member.key, "expected an app's name: \(AppID.rule)")
                continue
            }
            guard let providers = scope.scope(member.key) else { continue }
            providers.expectKeys(["fcm"])
            apps[app] = ProviderConfiguration.Providers(fcm: providers.scope("fcm").flatMap(fcm))
        }
        return apps
    }

    private func fcm(_ scope: ProviderScope) -> ProviderConfiguration.FCM? {
        scope.expectKeys(["serviceAccount", "endpoint", "tokenURI", "caFile", "connections", "window"])
        let endpoint = scope.address("endpoint")
        let tokenURI = scope.address("tokenURI")
        let authorities = authoritiesFile(scope)
        let connections = scope.count("connections", 1...64)
        let window = scope.count("window", 1...10_000)
        guard let account = serviceAccount(scope) else { return nil }
        return ProviderConfiguration.FCM(
            serviceAccount: account,
            endpoint: endpoint ?? "https://fcm.googleapis.com",
            tokenURI: tokenURI ?? account.tokenURI,
            authoritiesFile: authorities,
            connections: connections ?? 5,
            window: window ?? 500
        )
    }

    private func serviceAccount(_ scope: ProviderScope) -> ServiceAccount? {
        let key = "serviceAccount"
        guard scope.object[key] != nil else {
            scope.report(key, "missing: expected the path of the service account's JSON file")
            return nil
        }
        guard let path = scope.path(key).map(resolved) else { return nil }
        switch SmallFile.read(path, atMost: Self.longestKeyFile) {
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

    private func authoritiesFile(_ scope: ProviderScope) -> String? {
        guard let path = scope.path("caFile").map(resolved) else { return nil }
        switch SmallFile.read(path, atMost: ProviderReader.longestFile) {
        case .failure(let problem):
            scope.report("caFile", "\(path) \(problem.text): expected a PEM file of certificate authorities")
        case .success(let bytes) where !String(decoding: bytes, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----"):
            scope.report("caFile", "\(path) holds no certificate: expected a PEM file of certificate authorities")
        case .success:
            return path
        }
        return nil
    }

    private func resolved(_ path: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }
}
