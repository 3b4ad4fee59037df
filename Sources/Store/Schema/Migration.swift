import Cryptography
import Foundation

/// One numbered step of the schema, compiled into the program from `sql/`.
///
/// A program therefore always contains the exact schema for which it was built, without separate files that may be
/// missing.
package struct Migration: Sendable, Equatable {
    package let name: String
    package let sql: String
    /// Detects a file that was changed after it had been applied: migrations are never edited.
    package let checksum: String
    /// The schema's number after the migration: the prefix of its name.
    package let number: Int
    /// The oldest schema whose programs work with this one, from the line `-- admits 6` in the file.
    ///
    /// A file without this line removes something that other programs may need, and admits only programs that contain
    /// it.
    package let admits: Int
    /// Whether it runs statement by statement and outside a transaction, as is required for building an index while
    /// workers run: `-- without a transaction`.
    ///
    /// It may end half-way, so each of its statements must be repeatable.
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

    /// The single statements, if they do not run together.
    ///
    /// A statement ends with a semicolon at the end of a line.
    var statements: [String] {
        sql.components(separatedBy: ";\n").filter { statement in
            statement.split(separator: "\n").contains { !$0.hasPrefix("--") && !$0.allSatisfy(\.isWhitespace) }
        }
    }

    /// All migrations in the order of their application.
    package static let all: [Migration] = [
        Migration("0001_roles", PackageResources._001_roles_sql),
        Migration("0002_people", PackageResources._002_people_sql),
        Migration("0003_inbox", PackageResources._003_inbox_sql),
        Migration("0004_gateways", PackageResources._004_gateways_sql),
        Migration("0005_desk", PackageResources._005_desk_sql),
        Migration("0006_rights", PackageResources._006_rights_sql),
        Migration("0007_device_clocks", PackageResources._007_device_clocks_sql),
        Migration("0008_first_contact", PackageResources._008_first_contact_sql),
        Migration("0009_pauses", PackageResources._009_pauses_sql),
        Migration("0010_signed_in_person", PackageResources._010_signed_in_person_sql),
        Migration("0011_discarded_events", PackageResources._011_discarded_events_sql),
    ]
}
