package import BellhopJSON
package import ServiceRuntime
import Synchronization

/// The content of a file that operators edit while the process runs.
///
/// The file is checked again at a use, at most every five seconds. An invalid file leaves the previous content active,
/// so that a typo does not lock out every user of the file.
package final class WatchedDocument<Content: Sendable>: Sendable {
    /// The file's form.
    package struct Form: Sendable {
        /// The content's name in the log, such as `operators`.
        let name: String
        let longest: Int
        let read: @Sendable ([UInt8]) -> Result<Content, DocumentFaults>
        /// Reads the file itself; its faults include an unreadable file.
        let readFile: @Sendable () -> Result<Content, DocumentFaults>
        let count: @Sendable (Content) -> Int

        package init(
            name: String,
            atMost longest: Int,
            read: @escaping @Sendable ([UInt8]) -> Result<Content, DocumentFaults>,
            readFile: @escaping @Sendable () -> Result<Content, DocumentFaults>,
            count: @escaping @Sendable (Content) -> Int
        ) {
            self.name = name
            self.longest = longest
            self.read = read
            self.readFile = readFile
            self.count = count
        }
    }

    private struct State {
        var content: Content
        /// The last bytes, valid or not, or `nil` if the file could not be read.
        var bytes: [UInt8]?
        var lookedAt: ContinuousClock.Instant
    }

    private let file: String
    private let form: Form
    private let time: any TimeSource
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads the file.
    ///
    /// Throws if it is invalid at the start.
    package init(file: String, form: Form, time: any TimeSource, logger: Logger) throws(DocumentFaults) {
        self.file = file
        self.form = form
        self.time = time
        self.logger = logger.labelled(form.name)
        let bytes = Self.bytes(of: file, form)
        let content = bytes.map(form.read) ?? form.readFile()
        state = Mutex(State(content: try content.get(), bytes: bytes, lookedAt: time.steady()))
    }

    package var current: Content {
        let (content, outcome) = state.withLock { state -> (Content, Result<Content, DocumentFaults>?) in
            guard time.steady() - state.lookedAt >= .seconds(5) else { return (state.content, nil) }
            state.lookedAt = time.steady()
            let bytes = Self.bytes(of: file, form)
            guard bytes != state.bytes else { return (state.content, nil) }
            state.bytes = bytes
            let read = bytes.map(form.read) ?? form.readFile()
            if case .success(let content) = read { state.content = content }
            return (state.content, read)
        }
        switch outcome {
        case nil: break
        case .success(let content)?:
            logger.notice("\(form.name) reloaded", [form.name: .integer(form.count(content))])
        case .failure(let faults)?:
            logger.error("new \(form.name) rejected, keeping the old ones", ["error": .error(faults)])
        }
        return content
    }

    private static func bytes(of file: String, _ form: Form) -> [UInt8]? {
        try? SmallFile.read(file, atMost: form.longest).get()
    }
}
