/// What a list of items begins with.
package enum DeadLetterOrder: String, CaseIterable, Sendable {
    /// What failed last.
    case newest
    /// What has waited longest for somebody.
    case oldest
    /// What has died most often.
    case deaths

    /// Of `dead_letters d`.
    var sql: String {
        switch self {
        case .newest: "d.last_failed_at DESC, d.dead_id DESC"
        case .oldest: "d.first_failed_at, d.dead_id"
        case .deaths: "d.deaths DESC, d.last_failed_at DESC, d.dead_id DESC"
        }
    }
}
