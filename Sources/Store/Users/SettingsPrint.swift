import Postgres

/// A fingerprint of a user's settings and preferences.
///
/// It detects accidental differences only.
package struct SettingsPrint: Hashable, Sendable {
    /// At most 24 bits, of which at least one is set.
    let bits: UInt64

    init(hash: Int64) { bits = max(1, UInt64(bitPattern: hash) & Self.mask) }

    /// `nil` for bits without a fingerprint.
    init?(bits: UInt64) {
        guard bits & Self.mask != 0 else { return nil }
        self.bits = bits & Self.mask
    }

    private static let mask: UInt64 = 0xFF_FFFF
}

extension UserStore {
    /// Computes a hash of the user's settings and preferences.
    static let settingsPrint = Statement(
        """
        SELECT hashtextextended(concat_ws(
            ' ',
            (SELECT (r.push_enabled, r.email_enabled, p.email_enabled, r.locale, r.timezone, r.email)
             FROM recipients r LEFT JOIN people p ON p.app = r.app AND p.user_id = r.user_id
             WHERE r.app = $1 AND r.user_id = $2),
            (SELECT preferences FROM notification_preferences WHERE app = $1 AND profile_id = $2)
        ), 0)
        """,
        effect: .reads
    )
}
