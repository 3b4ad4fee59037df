import BellhopJSON
import BellhopRules
import ServiceRuntime

/// An issuer as an operator has configured it.
package struct ConfiguredIssuer: Sendable {
    /// The origin of its keys.
    package enum Keys: Sendable {
        case file(TokenKeySet)
        case remote(RemoteKeySource)
    }

    package let rules: TokenRules
    package let keys: Keys

    /// The issuer, its app and the origin of its keys, for people.
    package var summary: String {
        let app = rules.app.map { "for \($0)" } ?? "for the app that a token names"
        let origin =
            switch keys {
            case .file(let keys): "\(keys.count) \(keys.count == 1 ? "key" : "keys")"
            case .remote(let source): "keys from \(source.url)"
            }
        return "\(rules.issuer ?? "any issuer") \(app), \(origin)"
    }
}

/// Reads the file of issuers (`BELLHOP_SIGN_IN`).
struct SignInFile {
    static let mostIssuers = 50
    private static let longest = 1 << 18
    private static let members = ["issuer", "audience", "keys", "app", "user", "appClaim", "leeway", "caFile"]

    private let file: String
    private let files: WatchedFiles
    private let reading: DocumentReading
    /// Faults of the key sets that the file names.
    private var keyFaults: [DocumentFault] = []

    /// Returns the issuers of the file, or all faults of it and of the files that it names.
    static func read(_ file: String, _ files: WatchedFiles) -> Result<[ConfiguredIssuer], DocumentFaults> {
        switch files.read(file) {
        case .failure(let problem):
            return .failure(DocumentFaults(unreadable: file, "the file \(problem.text): check BELLHOP_SIGN_IN"))
        case .success(let bytes):
            let reading = DocumentReading(bytes, file: file, limits: .init(bytes: longest, depth: 8))
            var reader = SignInFile(file: file, files: files, reading: reading)
            return reader.result()
        }
    }

    private init(file: String, files: WatchedFiles, reading: DocumentReading) {
        self.file = file
        self.files = files
        self.reading = reading
    }

    private mutating func result() -> Result<[ConfiguredIssuer], DocumentFaults> {
        let document = reading.scope()
        document?.expectKeys(["issuers"])
        let scopes = document?.scopes("issuers", "the list of issuers", required: true) ?? []
        var issuers: [ConfiguredIssuer] = []
        for scope in scopes.prefix(Self.mostIssuers) {
            guard let issuer = issuer(scope) else { continue }
            if issuers.contains(where: { Self.acceptSameTokens($0.rules, issuer.rules) }) {
                scope.report("issuer", "an earlier entry has this issuer and one of these audiences already")
            }
            issuers.append(issuer)
        }
        let place = JSONPointer.root.key("issuers")
        if scopes.count > Self.mostIssuers {
            reading.report(place, "expected at most \(Self.mostIssuers) issuers, found \(scopes.count)")
        } else if scopes.isEmpty, reading.faults.isEmpty {
            reading.report(place, "expected at least one issuer")
        }
        let faults = reading.inOrder + keyFaults
        return faults.isEmpty ? .success(issuers) : .failure(DocumentFaults(faults: faults))
    }

    /// Whether a token could satisfy both entries, so that its app would depend on their order.
    private static func acceptSameTokens(_ one: TokenRules, _ other: TokenRules) -> Bool {
        one.issuer == other.issuer && one.audiences.contains(where: other.audiences.contains)
    }

    private mutating func issuer(_ scope: JSONScope) -> ConfiguredIssuer? {
        let scope = scope.knowing(Self.members)
        let issuer = scope.text("issuer", Self.textRule, required: true, Self.isText)
        let audiences = audiences(scope)
        let app = scope.value("app", AppID.rule) { $0.string.flatMap(AppID.init(validating:)) }
        let user = pointer("user", scope)
        let appClaim = pointer("appClaim", scope)
        let leeway = scope.value("leeway", "a span from 0s to 5m, such as 60s") { value in
            value.string.flatMap { Duration(text: $0) }.flatMap { $0 <= .seconds(300) ? $0 : nil }
        }
        let keys = keys(scope)
        guard let issuer, let audiences, let keys else { return nil }
        var rules = TokenRules(issuer: issuer, audiences: audiences, app: app)
        rules.user = user ?? rules.user
        rules.appClaim = appClaim ?? rules.appClaim
        rules.leeway = leeway ?? rules.leeway
        return ConfiguredIssuer(rules: rules, keys: keys)
    }

    private static let textRule = "a text of 1 to 2048 characters"

    private static func isText(_ text: String) -> Bool { (1...2_048).contains(text.utf8.count) }

    /// Reads one audience, or a list of them.
    private func audiences(_ scope: JSONScope) -> [String]? {
        if case .array? = scope.object["audience"] {
            return scope.list("audience", Self.textRule) { $0.string.flatMap { Self.isText($0) ? $0 : nil } }
        }
        return scope.text("audience", "\(Self.textRule), or a list of them", required: true, Self.isText).map { [$0] }
    }

    private func pointer(_ key: String, _ scope: JSONScope) -> JSONPointer? {
        scope.value(key, "a JSON pointer to a claim, such as /sub or /https:~1~1example.com~1app") { value in
            value.string.flatMap { $0.isEmpty ? nil : JSONPointer($0) }
        }
    }

    private mutating func keys(_ scope: JSONScope) -> ConfiguredIssuer.Keys? {
        let authorities = authorities(scope)
        let expected = "an https URL without user and fragment, or the path of a key set"
        let place = scope.text("keys", expected, required: true) { text in
            Self.isText(text) && (!text.contains("://") || RemoteKeySource.isSecure(text))
        }
        guard let place else { return nil }
        if place.contains("://") { return .remote(RemoteKeySource(url: place, authoritiesFile: authorities)) }
        if scope.object["caFile"] != nil { scope.report("caFile", "only valid with keys by https") }
        let path = SmallFile.path(place, namedIn: file)
        switch files.read(path) {
        case .failure(let problem): scope.report("keys", "\(path) \(problem.text): expected a JSON Web Key Set")
        case .success(let bytes):
            switch TokenKeySet.read(bytes, file: path) {
            case .success(let keys): return .file(keys)
            case .failure(let faults): keyFaults += faults.faults.filter { !keyFaults.contains($0) }
            }
        }
        return nil
    }

    /// Returns the path of the PEM file in `caFile`, or reports that it contains no certificates.
    private func authorities(_ scope: JSONScope) -> String? {
        let named = scope.text("caFile", "the path of a PEM file of certificate authorities", Self.isText)
        guard let path = named.map({ SmallFile.path($0, namedIn: file) }) else { return nil }
        switch files.read(path) {
        case .failure(let problem): scope.report("caFile", "\(path) \(problem.text): expected a PEM file")
        case .success(let bytes) where !String(decoding: bytes, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----"):
            scope.report("caFile", "\(path) holds no certificate: expected a PEM file of certificate authorities")
        case .success: return path
        }
        return nil
    }
}
