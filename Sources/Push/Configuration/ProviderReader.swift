import BellhopRules
import ServiceRuntime

/// Reads the providers' file; the result is complete only if no fault was reported.
final class ProviderReader {
    private static let longestKeyFile = 64 * 1024

    /// The files from which keys and passwords were read, each once.
    private(set) var secretFiles: [String] = []
    private let file: String

    init(file: String) { self.file = file }

    func apps(_ scope: JSONScope) -> [AppID: ProviderConfiguration.Providers] {
        var apps: [AppID: ProviderConfiguration.Providers] = [:]
        for member in scope.object.members {
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

    /// Reads the information for the clients of each app.
    ///
    /// No other member is read, and no file that such a member names.
    func clientParts(_ scope: JSONScope) -> [AppID: ProviderConfiguration.ClientConfiguration] {
        var parts: [AppID: ProviderConfiguration.ClientConfiguration] = [:]
        for member in scope.object.members {
            guard let app = AppID(validating: member.key), let providers = scope.scope(member.key) else { continue }
            parts[app] = ProviderConfiguration.ClientConfiguration(
                webPushKey: providers.scope("webpush").flatMap(vapidKeys)?.usual.publicKey,
                endpointHosts: providers.scope("webpush").map(endpointHosts),
                unsubscribe: providers.scope("email")?.scope("unsubscribe", required: true).flatMap(unsubscribeLink),
                providers: Set(PushProvider.allCases.filter { providers.object[$0.rawValue] != nil })
            )
        }
        return parts
    }

    /// Reads `caFile`, `connections` and `window`.
    ///
    /// The default of the last is `window`, or one request for each connection.
    func reach(_ scope: JSONScope, connections usual: Int, window: Int? = nil)
        -> ProviderConfiguration.ConnectionSettings
    {
        let connections = scope.wholeNumber("connections", 1...64) ?? usual
        return ProviderConfiguration.ConnectionSettings(
            authoritiesFile: authoritiesFile(scope),
            connections: connections,
            window: scope.wholeNumber("window", 1...10_000) ?? window ?? connections
        )
    }

    /// Reads the path of the PEM file in `caFile` and checks that the file contains certificates.
    private func authoritiesFile(_ scope: JSONScope) -> String? {
        guard let path = scope.path("caFile", of: "certificate authorities in PEM").map(resolved) else { return nil }
        switch SmallFile.read(path, atMost: ProviderConfiguration.longestFile) {
        case .failure(let problem):
            scope.report("caFile", "\(path) \(problem.text): expected a PEM file of certificate authorities")
        case .success(let bytes) where !String(decoding: bytes, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----"):
            scope.report("caFile", "\(path) holds no certificate: expected a PEM file of certificate authorities")
        case .success:
            return path
        }
        return nil
    }

    /// Returns the value that `make` creates from the bytes of a secret file, or reports the fault in them.
    ///
    /// `advice` explains how to obtain such a file.
    func secret<Value>(
        _ key: String,
        _ scope: JSONScope,
        of content: String,
        required: Bool = true,
        advice: String,
        _ make: ([UInt8]) throws(SecretFault) -> Value
    ) -> Value? {
        guard let path = scope.path(key, of: content, required: required).map(resolved) else { return nil }
        if !secretFiles.contains(path) { secretFiles.append(path) }
        switch SmallFile.read(path, atMost: Self.longestKeyFile) {
        case .failure(let problem): scope.report(key, "\(path) \(problem.text): \(advice)")
        case .success(let bytes):
            do throws(SecretFault) {
                return try make(bytes)
            } catch {
                for sentence in error.sentences { scope.report(key, "\(path)\(sentence)") }
            }
        }
        return nil
    }

    /// Returns a path of the document; a relative path starts at the document's folder.
    private func resolved(_ path: String) -> String { SmallFile.path(path, namedIn: file) }
}

/// The faults in the content of a secret file, as ends of sentences that begin with its name; never contains a part of
/// the content.
struct SecretFault: Error {
    let sentences: [String]
}

extension JSONScope {
    /// Reads `budget: {pushes, seconds}`, the provider's limit for all workers together.
    func budget() -> PushBudget.Limit? {
        guard let scope = scope("budget") else { return nil }
        scope.expectKeys(["pushes", "seconds"])
        guard let pushes = scope.wholeNumber("pushes", 1...1_000_000_000),
            let seconds = scope.wholeNumber("seconds", 1...86_400)
        else {
            if ["pushes", "seconds"].contains(where: { scope.object[$0] == nil }) {
                report("budget", "expected both pushes and seconds, such as {pushes: 600, seconds: 1}")
            }
            return nil
        }
        return PushBudget.Limit(pushes: pushes, seconds: seconds)
    }

    /// Reads an `https` URL and removes its trailing slash.
    func address(_ key: String, required: Bool = false) -> String? {
        let expected = "an https URL without user, query and fragment"
        let text = text(key, expected, required: required, ServiceAddress.isSecure)
        return text.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    func path(_ key: String, of content: String, required: Bool = false) -> String? {
        let expected = "the path of a file with \(content)"
        return text(key, expected, required: required) { !$0.isEmpty && !$0.utf8.contains { $0 < 0x20 } }
    }
}
