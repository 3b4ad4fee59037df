package import Postgres

/// The database session that holds the lock of a process with claims, until the process ends or closes it.
package final class ClaimantSession: Sendable {
    /// The number of the process in its claims.
    package let number: Int64
    private let lock: NotificationListener

    /// Registers the process and takes its lock.
    ///
    /// `options` contains the options of the session, with the rights of its role.
    package init(registeredIn book: ClaimantBook, options: ListenerOptions) async throws(StoreError) {
        number = try await book.enrol()
        var options = options
        options.setUp.append(ClaimantBook.lock(number))
        lock = NotificationListener(options)
    }

    /// Ends the session and thus releases the lock.
    package func close() {
        lock.close()
    }
}
