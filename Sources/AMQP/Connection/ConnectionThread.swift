import Foundation

/// The thread that one connection lives on.
///
/// Its stack is large on purpose: librabbitmq decodes nested tables by recursion, as deep as the sender likes (a header
/// of 128 KiB holds 26,000 levels), before anybody can look at them. Only pages that are touched take memory.
enum ConnectionThread {
    private static let stackSize = 64 << 20

    static func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.name = name
        thread.stackSize = stackSize
        thread.start()
    }
}
