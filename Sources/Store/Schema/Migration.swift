import Cryptography
import Foundation

/// One numbered step of the schema, compiled into the program from `sql/`.
///
/// A program therefore knows exactly the schema it was built for, and no file can go missing beside it.
package struct Migration: Sendable, Equatable {
    package let name: String
    package let sql: String
    /// Detects a file that was edited after it had been applied somewhere: migrations go forward only.
    package let checksum: String
    /// The schema's number once it is applied: that in front of its name.
    package let number: Int
    /// The oldest schema whose programs go on working beside this one: what the file says as `-- admits 6`.
    ///
    /// A file without a word on it takes something away that others may need, and admits its own programs alone.
    package let admits: Int
    /// Whether it runs statement by statement and outside a transaction, as an index that is built beside running workers
    /// has to be: `-- without a transaction`.
    ///
    /// It may end half-way, so each of its statements must be one that may be repeated.
    package let isGradual: Bool

    package init(_ name: String, _ bytes: [UInt8]) {
        let sql = String(decoding: bytes, as: UTF8.self)
        let number = Int(name.prefix { $0.isNumber }) ?? 0
        let notes = sql.split(separator: "\n").prefix { $0.hasPrefix("--") }
        let words = notes.lazy.filter { $0.hasPrefix(Self.admission) }
        let admitted = words.compactMap { Int($0.dropFirst(Self.admission.count)) }
        self.name = name
        self.sql = sql
        self.number = number
        checksum = SHA256.digest(of: bytes).hexPrefix(bytes: 16)
        admits = min(admitted.first ?? number, number)
        isGradual = notes.contains("-- without a transaction")
    }

    private static let admission = "-- admits "

    /// Each by itself, where they do not run together: a line ends with the semicolon of each.
    var statements: [String] {
        sql.components(separatedBy: ";\n").filter { statement in
            statement.split(separator: "\n").contains { !$0.hasPrefix("--") && !$0.allSatisfy(\.isWhitespace) }
        }
    }

    /// Every migration in the order in which they apply.
    package static let all: [Migration] = [
        Migration("0001_roles", PackageResources._001_roles_sql),
        Migration("0002_people", PackageResources._002_people_sql),
        Migration("0003_inbox", PackageResources._003_inbox_sql),
        Migration("0004_gateways", PackageResources._004_gateways_sql),
        Migration("0005_desk", PackageResources._005_desk_sql),
        Migration("0006_rights", PackageResources._006_rights_sql),
    ]
}
