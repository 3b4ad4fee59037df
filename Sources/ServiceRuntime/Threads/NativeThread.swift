import Foundation

/// A thread of the operating system that runs one body and ends with it.
///
/// Bellhop's C libraries need one thread per connection (librabbitmq, libpq, libcurl). It must never be a thread of the
/// cooperative pool, which blocking calls would starve.
package enum NativeThread {
    /// Starts a thread named `name` (Linux shows the first 15 bytes) that runs `body` once.
    package static func start(
        named name: String,
        stackSize: Int = 1 << 20,
        _ body: @escaping @Sendable () -> Void
    ) {
        let thread = Thread(block: body)
        thread.name = name
        thread.stackSize = stackSize
        thread.start()
    }
}
