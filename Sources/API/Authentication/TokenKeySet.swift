package import BellhopJSON
package import BellhopRules
package import Cryptography
import ServiceRuntime

/// A key that checks tokens, bound to the one algorithm for which it is used.
package struct TokenKey: Equatable, Sendable {
    package let id: String
    let algorithm: JSONWebToken.Algorithm
    let key: PublicKey
    /// The apps whose users the key may sign in, or `nil` for every app.
    let apps: Set<AppID>?

    package init(id: String, algorithm: JSONWebToken.Algorithm, key: PublicKey, apps: Set<AppID>? = nil) {
        self.id = id
        self.algorithm = algorithm
        self.key = key
        self.apps = apps
    }

    func speaks(for app: AppID) -> Bool { apps?.contains(app) ?? true }
}

/// The keys of an issuer, by name.
package struct TokenKeySet: Equatable, Sendable {
    private let keys: [String: TokenKey]

    package init(_ keys: [TokenKey]) {
        self.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    package var count: Int { keys.count }

    /// The sorted names of keys that may sign in users of every app.
    package var unbound: [String] { keys.values.filter { $0.apps == nil }.map(\.id).sorted() }

    subscript(id: String) -> TokenKey? { keys[id] }

    /// Reads a JSON Web Key Set (RFC 7517) that an operator maintains, or returns all its faults.
    ///
    /// Keys for encryption are skipped, since identity providers list them together with the others. A secret key is a
    /// fault, because every reader of the file could sign with it.
    package static func read(_ bytes: [UInt8], file: String) -> Result<TokenKeySet, DocumentFaults> {
        let reading = reading(bytes, of: file)
        let scopes = reading.scope()?.scopes("keys", "the list of keys", required: true) ?? []
        var keys: [TokenKey] = []
        for scope in scopes.prefix(mostKeys) where scope.object["use"] != "enc" {
            guard let key = TokenKeyReader(scope: scope).key() else { continue }
            if keys.contains(where: { $0.id == key.id }) { scope.report("kid", "another key has this name already") }
            keys.append(key)
        }
        if scopes.count > mostKeys {
            reading.report(JSONPointer.root.key("keys"), "expected at most \(mostKeys) keys, found \(scopes.count)")
        } else if keys.isEmpty, reading.faults.isEmpty {
            reading.report(JSONPointer.root.key("keys"), "expected a key that signs")
        }
        return reading.result(TokenKeySet(keys))
    }

    /// Reads a JSON Web Key Set that an issuer publishes.
    ///
    /// Keys that cannot check tokens here are skipped: the issuer lists them for other programs, and no operator can
    /// correct them. A set without a usable key is a fault. Keys beyond the first 100 are ignored.
    static func readFetched(_ bytes: [UInt8], from url: String) -> Result<TokenKeySet, DocumentFaults> {
        let reading = reading(bytes, of: url)
        let scopes = reading.scope()?.scopes("keys", "the list of keys", required: true) ?? []
        let keys = scopes.prefix(mostKeys).filter { $0.object["use"] != "enc" }
            .compactMap { TokenKeyReader(scope: $0).key() }
        guard keys.isEmpty else { return .success(TokenKeySet(keys)) }
        reading.report(JSONPointer.root.key("keys"), "expected a key that signs")
        return .failure(DocumentFaults(faults: reading.inOrder))
    }

    private static func reading(_ bytes: [UInt8], of place: String) -> DocumentReading {
        DocumentReading(bytes, file: place, dialect: .strict, limits: .init(bytes: longestFile, depth: 8))
    }

    /// Reads the file.
    ///
    /// An unreadable file is a fault as well.
    package static func read(file: String) -> Result<TokenKeySet, DocumentFaults> {
        switch SmallFile.read(file, atMost: longestFile) {
        case .success(let bytes): read(bytes, file: file)
        case .failure(let problem): .failure(unreadable(file, problem))
        }
    }

    static func unreadable(_ file: String, _ problem: SmallFile.Problem) -> DocumentFaults {
        DocumentFaults(unreadable: file, "the key set \(problem.text): check BELLHOP_JWT_KEYS")
    }

    /// A key set is small.
    ///
    /// A larger file is something else.
    static let longestFile = 1 << 18
    private static let mostKeys = 100
}

/// Reads one key of a set.
private struct TokenKeyReader {
    let scope: JSONScope

    /// Members that only a secret key has (RFC 7518 §6).
    private static let secrets = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// Returns the key, or `nil` after reporting a fault.
    func key() -> TokenKey? {
        if let secret = Self.secrets.first(where: { scope.object[$0] != nil }) {
            scope.report(secret, "this is a secret: expected the public half of the key alone")
            return nil
        }
        let id = scope.text("kid", "a name of 1 to 255 characters", required: true) {
            (1...255).contains($0.utf8.count)
        }
        let algorithm = algorithm()
        let apps = scope.object["apps"].flatMap { _ in
            scope.list("apps", AppID.rule) { $0.string.flatMap(AppID.init(validating:)) }
        }
        guard let id, let algorithm, let key = publicKey(algorithm) else { return nil }
        if scope.object["apps"] != nil, apps == nil { return nil }
        return TokenKey(id: id, algorithm: algorithm, key: key, apps: apps.map(Set.init))
    }

    /// Returns the one algorithm of the key: its `alg`, or else the algorithm of its type and curve.
    private func algorithm() -> JSONWebToken.Algorithm? {
        guard scope.object["alg"] == nil else { return scope.word("alg", as: JSONWebToken.Algorithm.self) }
        switch (scope.object["kty"]?.string, scope.object["crv"]?.string) {
        case ("RSA", _): return .rs256
        case ("EC", "P-256"): return .es256
        case ("OKP", "Ed25519"): return .edDSA
        default:
            scope.report("alg", expected: JSONScope.oneOf(JSONWebToken.Algorithm.self))
            return nil
        }
    }

    private func publicKey(_ algorithm: JSONWebToken.Algorithm) -> PublicKey? {
        switch algorithm {
        case .rs256:
            guard isKind("RSA"), let n = bytes("n"), let e = bytes("e") else { return nil }
            return make("n") { () throws(CryptographyError) in try PublicKey(rsaModulus: n, exponent: e) }
        case .es256:
            guard isKind("EC", "P-256"), let x = bytes("x"), let y = bytes("y") else { return nil }
            return make("x") { () throws(CryptographyError) in try PublicKey(p256Point: [4] + x + y) }
        case .edDSA:
            guard isKind("OKP", "Ed25519"), let x = bytes("x") else { return nil }
            return make("x") { () throws(CryptographyError) in try PublicKey(ed25519Point: x) }
        }
    }

    private func isKind(_ kind: String, _ curve: String? = nil) -> Bool {
        let hasKind = scope.text("kty", "\(kind), as its algorithm needs it", required: true) { $0 == kind } != nil
        guard let curve, hasKind else { return hasKind }
        return scope.text("crv", "\(curve), as its algorithm needs it", required: true) { $0 == curve } != nil
    }

    private func bytes(_ member: String) -> [UInt8]? {
        scope.value(member, "base64url without padding", required: true) { value in
            value.string.flatMap { $0.contains("=") ? nil : Base64URL.decode($0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
    }

    private func make(_ member: String, _ key: () throws(CryptographyError) -> PublicKey) -> PublicKey? {
        do throws(CryptographyError) {
            return try key()
        } catch {
            scope.report(member, "\(error)")
            return nil
        }
    }
}
