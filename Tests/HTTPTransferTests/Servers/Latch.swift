import Foundation
import TestSupport

/// Something that a server's thread waits for until the test allows it.
final class Latch: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() {
        semaphore.signal()
    }

    /// Gives up when no test would wait any longer.
    func wait() {
        _ = semaphore.wait(timeout: .now() + LongestWait.seconds)
        semaphore.signal()
    }
}
