package import ServiceRuntime
import Synchronization

/// The captured output of a command, as it would reach a terminal or a pipe.
package final class CapturedOutput: Sendable {
    private let bytes = Mutex<[UInt8]>([])

    package init() {}

    package var output: PrintedOutput {
        PrintedOutput { [self] piece in
            bytes.withLock { $0 += piece }
            return 0
        }
    }

    /// Returns the output of a terminal with colours.
    package func screen(width: Int) -> PrintedOutput {
        PrintedOutput(width: width) { [self] piece in
            bytes.withLock { $0 += piece }
            return 0
        }
    }

    /// The text without the final newline.
    package var text: String {
        let text = String(decoding: bytes.withLock { $0 }, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}
