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
            return ProviderConfiguration(apps: apps, secretFiles: sink.secretFiles)
        }
    }
}

extension ProviderFaults {
    fileprivate static func whole(_ file: String, _ message: String) -> ProviderFaults {
        ProviderFaults(faults: [ProviderFault(file: file, line: nil, column: nil, pointer: .root, message: message)])
    }
}

/// Walks through the document; what comes out is whole only where nothing was reported.
struct ProviderReader {
    /// A configuration is small; what is larger is some other file.
    static let longestFile = 1 << 20

    static let longestKeyFile = 64 * 1024

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
            providers.expectKeys(["fcm", "apns", "webpush", "email", "expo"])
            apps[app] = ProviderConfiguration.Providers(
                fcm: providers.scope("fcm").flatMap(fcm),
                apns: providers.scope("apns").flatMap(apns),
                webPush: providers.scope("webpush").flatMap(webPush),
                email: providers.scope("email").flatMap(email),
                expo: providers.scope("expo").flatMap { expo($0, of: app) }
            )
        }
        return apps
    }

    /// The PEM file that `caFile` names, which must hold certificates.
    func authoritiesFile(_ scope: ProviderScope) -> String? {
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

    /// The bytes of a file that holds a secret.
    func secret(_ path: String) -> Result<[UInt8], SmallFile.Problem> {
        sink.note(secretFile: path)
        return SmallFile.read(path, atMost: Self.longestKeyFile)
    }

    /// A path of the document, from the document's own folder where it is relative.
    func resolved(_ path: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }
}
