import Foundation

/// A pipe whose writing end only the parent holds.
///
/// When the parent ends for any reason, its children read the end of the pipe.
///
/// Nothing is ever written to it.
package final class ParentExitMonitor: Sendable {
    /// The end for the stdin of a child.
    let readEnd: Int32
    private let writeEnd: Int32

    package init() throws(CommandFailure) {
        // A child must not inherit the writing end, because it would then keep its own lifeline open.
        let ends = try PipeEnds()
        (readEnd, writeEnd) = (ends.reading, ends.writing)
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Calls `body` once, from a separate thread, when no process holds the other end of stdin.
    package static func whenInputEnds(_ body: @escaping @Sendable () -> Void) {
        NativeThread.start(named: "lifeline") {
            var byte: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &byte, 1)
                if count > 0 || (count < 0 && errno == EINTR) { continue }
                return body()
            }
        }
    }
}
