package import BellhopJSON
package import ServiceRuntime
import Synchronization

/// The form of a file that operators edit while the process runs.
package protocol WatchedFile: Sendable {
    /// The content's name in errors and in the log, such as `operators`.
    static var name: String { get }
    /// The setting with the file's path.
    static var setting: Setting { get }
    static var longestFile: Int { get }
    /// The number of entries, for the log.
    var count: Int { get }

    /// Parses the text of such a file, or returns all its faults.
    static func read(_ bytes: [UInt8], file: String) -> Result<Self, DocumentFaults>
}

extension WatchedFile {
    /// Reads the file.
    ///
    /// An unreadable file is a fault as well.
    package static func read(file: String) -> Result<Self, DocumentFaults> {
        switch SmallFile.read(file, atMost: longestFile) {
        case .success(let bytes): read(bytes, file: file)
        case .failure(let problem):
            .failure(
                DocumentFaults(
                    unreadable: file,
                    "the file of \(name) \(problem.text): check \(setting.environmentName)"
                )
            )
        }
    }
}

/// The content of a file that operators edit while the process runs.
///
/// The file is checked again at a use, at most every five seconds. An invalid file leaves the previous content active,
/// so that a typo does not lock out every user of the file.
package final class WatchedDocument<Content: WatchedFile>: Sendable {
    private struct State {
        var content: Content
        /// The last bytes, valid or not, or `nil` if the file could not be read.
        var bytes: [UInt8]?
        var lookedAt: ContinuousClock.Instant
    }

    private let file: String
    private let time: any TimeSource
    private let logger: Logger
    private let state: Mutex<State>

    /// Reads the file.
    ///
    /// Throws if it is invalid at the start.
    package init(file: String, time: any TimeSource, logger: Logger) throws(DocumentFaults) {
        self.file = file
        self.time = time
        self.logger = logger.labelled(Content.name)
        let bytes = Self.bytes(of: file)
        let content = Self.content(bytes, file)
        state = Mutex(State(content: try content.get(), bytes: bytes, lookedAt: time.steady()))
    }

    package var current: Content {
        let (content, outcome) = state.withLock { state -> (Content, Result<Content, DocumentFaults>?) in
            guard time.steady() - state.lookedAt >= .seconds(5) else { return (state.content, nil) }
            state.lookedAt = time.steady()
            let bytes = Self.bytes(of: file)
            guard bytes != state.bytes else { return (state.content, nil) }
            state.bytes = bytes
            let read = Self.content(bytes, file)
            if case .success(let content) = read { state.content = content }
            return (state.content, read)
        }
        switch outcome {
        case nil: break
        case .success(let content)?:
            logger.notice("\(Content.name) reloaded", [Content.name: .integer(content.count)])
        case .failure(let faults)?:
            logger.error("new \(Content.name) rejected, keeping the old ones", ["error": .error(faults)])
        }
        return content
    }

    private static func bytes(of file: String) -> [UInt8]? {
        try? SmallFile.read(file, atMost: Content.longestFile).get()
    }

    /// Parses the bytes; without them, reads the file again for the reason why it cannot be read.
    private static func content(_ bytes: [UInt8]?, _ file: String) -> Result<Content, DocumentFaults> {
        bytes.map { Content.read($0, file: file) } ?? Content.read(file: file)
    }
}
