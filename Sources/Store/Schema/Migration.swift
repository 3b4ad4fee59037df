import Cryptography

/// One numbered step of the schema, compiled into the program from `sql/`.
///
/// A program therefore knows exactly the schema it was built for, and no file can go missing beside it.
package struct Migration: Sendable, Equatable {
    package let name: String
    package let sql: String
    /// Detects a file that was edited after it had been applied somewhere: migrations go forward only.
    package let checksum: String

    init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        self.sql = String(decoding: bytes, as: UTF8.self)
        self.checksum = SHA256.digest(of: bytes).hexPrefix(bytes: 16)
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
