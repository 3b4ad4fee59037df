/// The prefix of every exchange and queue, and the name of the schema.
///
/// It appears unquoted in SQL and in names at the broker, so that only `^[a-z][a-z0-9_]{0,40}$` is valid. PostgreSQL
/// reserves `pg_`.
package struct Namespace: Sendable, Hashable, CustomStringConvertible {
    package let name: String

    /// The default namespace.
    package static let usual = Namespace(known: "bellhop")

    private init(known name: String) { self.name = name }

    package init?(_ name: String) {
        let bytes = name.utf8
        let isWord = bytes.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789_".utf8.contains($0) }
        guard isWord, (1...41).contains(bytes.count), !name.hasPrefix("pg_") else { return nil }
        guard let first = bytes.first, "abcdefghijklmnopqrstuvwxyz".utf8.contains(first) else { return nil }
        self.name = name
    }

    package var description: String { name }
}
