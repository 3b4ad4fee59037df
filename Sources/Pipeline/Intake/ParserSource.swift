package import BellhopRules
import Synchronization

/// The parser in force, which a reload of the catalogues replaces between two batches.
package final class ParserSource: Sendable {
    private let parser: Mutex<SubmissionParser>

    package init(_ parser: SubmissionParser) {
        self.parser = Mutex(parser)
    }

    package var current: SubmissionParser {
        parser.withLock { $0 }
    }
}
