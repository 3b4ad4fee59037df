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
        Migration("0002_inbox", PackageResources._002_inbox_sql),
        Migration("0003_people", PackageResources._003_people_sql),
        Migration("0004_operations", PackageResources._004_operations_sql),
        Migration("0005_rights", PackageResources._005_rights_sql),
        Migration("0006_overtaken_letters", PackageResources._006_overtaken_letters_sql),
        Migration("0007_unknown_sends", PackageResources._007_unknown_sends_sql),
        Migration("0008_due_work", PackageResources._008_due_work_sql),
        Migration("0009_letters_by_event", PackageResources._009_letters_by_event_sql),
        Migration("0010_gateways", PackageResources._010_gateways_sql),
        Migration("0011_token_life", PackageResources._011_token_life_sql),
        Migration("0012_receipts", PackageResources._012_receipts_sql),
        Migration("0013_badges", PackageResources._013_badges_sql),
        Migration("0014_dead_letter_desk", PackageResources._014_dead_letter_desk_sql),
        Migration("0015_user_first", PackageResources._015_user_first_sql),
        Migration("0016_erasure", PackageResources._016_erasure_sql),
        Migration("0017_plans_and_due_events", PackageResources._017_plans_and_due_events_sql),
        Migration("0018_reminders_in_hand", PackageResources._018_reminders_in_hand_sql),
        Migration("0019_least_privilege", PackageResources._019_least_privilege_sql),
        Migration("0020_backlogs", PackageResources._020_backlogs_sql),
    ]
}
