package import BellhopRules
package import Cryptography

/// A key that tokens are checked with, pinned to the one algorithm that it is used with.
package struct TokenKey: Sendable {
    package let id: String
    let algorithm: JSONWebToken.Algorithm
    let key: PublicKey
    /// For whose users it may speak; nil for those of every app.
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

/// The keys in force, by their names.
package struct TokenKeySet: Sendable {
    /// Tells one set from another that was read later.
    package final class Mark: Sendable {}

    private let keys: [String: TokenKey]
    let mark = Mark()

    package init(_ keys: [TokenKey]) {
        self.keys = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    package var count: Int { keys.count }

    /// The names of the keys that may speak for the users of every app, in their order.
    package var unbound: [String] { keys.values.filter { $0.apps == nil }.map(\.id).sorted() }

    subscript(id: String) -> TokenKey? { keys[id] }
}
