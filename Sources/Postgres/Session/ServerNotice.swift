/// A remark of the server that is no error: a WARNING, or the NOTICE of a migration.
package struct ServerNotice: Sendable, Hashable {
    /// `WARNING`, `NOTICE` and so on, in English whatever language the server speaks.
    package let severity: String
    package let sqlState: SQLState?
    package let message: String
}

/// Receives what libpq would otherwise print on standard error.
///
/// Confined to its session's thread.
final class NoticeReceiver {
    private let report: @Sendable (ServerNotice) -> Void
    /// The server has said goodbye while nothing was under way.
    private(set) var hasSeenEnd = false

    init(_ report: @escaping @Sendable (ServerNotice) -> Void) {
        self.report = report
    }

    func receive(_ notice: ServerReport) {
        if notice.isFatal { hasSeenEnd = true }
        report(ServerNotice(severity: notice.severity, sqlState: notice.sqlState, message: notice.message))
    }
}
