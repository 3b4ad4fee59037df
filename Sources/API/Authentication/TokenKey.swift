package import BellhopRules
package import Cryptography

/// A key that checks tokens, bound to the one algorithm for which it is used.
package struct TokenKey: Sendable {
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

    func speaks(for app: AppID) -> Bool {
        apps?.contains(app) ?? true
    }
}

/// The active keys, by name.
package struct TokenKeySet: Sendable {
    /// Distinguishes a key set from one that was read later.
    package final class Mark: Sendable {}

    private let keys: [String: TokenKey]
    let mark = Mark()

    package init(_ keys: [TokenKey]) {
        self.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    package var count: Int { keys.count }

    /// The sorted names of keys that may sign in users of every app.
    package var unbound: [String] { keys.values.filter { $0.apps == nil }.map(\.id).sorted() }

    subscript(id: String) -> TokenKey? { keys[id] }
}
