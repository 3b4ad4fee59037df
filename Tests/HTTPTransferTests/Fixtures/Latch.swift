import Foundation
import TestSupport

/// A latch at which a server's thread waits until the test opens it.
final class Latch: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() {
        semaphore.signal()
    }

    /// Waits until the latch is open.
    ///
    /// It gives up after the longest time that a test waits.
    func wait() {
        _ = semaphore.wait(timeout: .now() + LongestWait.seconds)
        semaphore.signal()
    }
}
