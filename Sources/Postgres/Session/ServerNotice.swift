/// A message of the server that is not an error: a WARNING, or the NOTICE of a migration.
package struct ServerNotice: Sendable, Hashable {
    /// `WARNING`, `NOTICE` and so on, in English for any language of the server.
    package let severity: String
    package let sqlState: SQLState?
    package let message: String
}

/// Receives messages that libpq would otherwise print on standard error.
///
/// Confined to its session's thread.
final class NoticeReceiver {
    private let report: @Sendable (ServerNotice) -> Void
    /// Whether the server announced the end of the session while it was idle.
    private(set) var hasSeenEnd = false

    init(_ report: @escaping @Sendable (ServerNotice) -> Void) {
        self.report = report
    }

    func receive(_ notice: ServerReport) {
        if notice.isFatal { hasSeenEnd = true }
        report(ServerNotice(severity: notice.severity, sqlState: notice.sqlState, message: notice.message))
    }
}
