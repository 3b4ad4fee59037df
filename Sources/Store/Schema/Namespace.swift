/// The name under which one Bellhop lives: the schema in PostgreSQL and the prefix of every exchange and queue.
///
/// Several namespaces share a broker and a database without meeting: the tests rely on it, and so does a staging
/// system beside a production one.
package struct Namespace: Sendable, Hashable, CustomStringConvertible {
    package let name: String

    /// Accepts lower-case letters, digits and underscores, up to 41 of them, starting with a letter, and not the
    /// `pg_` that PostgreSQL keeps to itself; so the name needs no quoting anywhere.
    package init?(_ name: String) {
        let letters = "a"..."z"
        guard name.utf8.count <= 41, !name.hasPrefix("pg_"), let first = name.first, letters.contains(String(first)),
            name.unicodeScalars.allSatisfy({ "abcdefghijklmnopqrstuvwxyz0123456789_".unicodeScalars.contains($0) })
        else { return nil }
        self.name = name
    }

    package var description: String { name }
}
