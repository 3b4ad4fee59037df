/// The prefix of every exchange and queue, and the name of the schema.
///
/// It stands unquoted in SQL and in names on the broker, so nothing but `^[a-z][a-z0-9_]{0,40}$` passes; PostgreSQL
/// keeps `pg_` for itself.
package struct Namespace: Sendable, Hashable, CustomStringConvertible {
    package let name: String

    /// Where nobody has named one.
    package static let usual = Namespace(known: "bellhop")

    private init(known name: String) {
        self.name = name
    }

    package init?(_ name: String) {
        let bytes = name.utf8
        let isWord = bytes.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789_".utf8.contains($0) }
        guard isWord, (1...41).contains(bytes.count), !name.hasPrefix("pg_") else { return nil }
        guard let first = bytes.first, "abcdefghijklmnopqrstuvwxyz".utf8.contains(first) else { return nil }
        self.name = name
    }

    package var description: String { name }
}
