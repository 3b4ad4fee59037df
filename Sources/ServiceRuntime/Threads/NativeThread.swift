import Foundation

/// A thread of the operating system that runs one body and ends with it.
///
/// The C libraries that Bellhop stands on want one thread each for a connection (librabbitmq, libpq, libcurl); such
/// a thread must never be one of the cooperative pool, which blocking calls would starve.
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
