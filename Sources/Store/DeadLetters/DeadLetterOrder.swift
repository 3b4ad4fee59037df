/// The order of a list of items.
package enum DeadLetterOrder: String, CaseIterable, Sendable {
    /// The latest failure first.
    case newest
    /// The longest wait first.
    case oldest
    /// The most deaths first.
    case deaths

    /// The `ORDER BY` expressions for `dead_letters d`.
    var sql: String {
        switch self {
        case .newest: "d.last_failed_at DESC, d.dead_id DESC"
        case .oldest: "d.first_failed_at, d.dead_id"
        case .deaths: "d.deaths DESC, d.last_failed_at DESC, d.dead_id DESC"
        }
    }
}
