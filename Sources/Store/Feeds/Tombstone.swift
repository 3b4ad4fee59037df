/// The condition that an update is newer than a deletion.
enum Tombstone {
    /// `subject` is the column of `r` with the hash of the tombstone.
    static func spares(_ subject: String) -> String {
        """
        NOT EXISTS (
            SELECT FROM tombstones x WHERE x.app = r.app AND x.subject_hash = \(subject) AND x.deleted_at >= r.said_at
            OFFSET 0)
        """
    }
}
