package import BellhopJSON
package import ServiceRuntime
import Synchronization

/// The operators who may sign in now.
///
/// The file is checked again at a use, at most every five seconds. An invalid file leaves the previous operators
/// active, so that a typo does not lock out all operators.
package final class OperatorDirectory: Sendable {
    private struct State {
        var list: OperatorFile
        var content: [UInt8]?
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
        self.logger = logger.labelled("operators")
        let content = Self.content(of: file)
        let list = content.map { OperatorFile.read($0, file: file) } ?? OperatorFile.read(file: file)
        state = Mutex(State(list: try list.get(), content: content, lookedAt: time.steady()))
    }

    package var current: OperatorFile {
        let (list, outcome) = state.withLock { state -> (OperatorFile, Result<OperatorFile, DocumentFaults>?) in
            guard time.steady() - state.lookedAt >= Self.interval else { return (state.list, nil) }
            state.lookedAt = time.steady()
            let content = Self.content(of: file)
            guard content != state.content else { return (state.list, nil) }
            state.content = content
            let read = content.map { OperatorFile.read($0, file: file) } ?? OperatorFile.read(file: file)
            if case .success(let list) = read { state.list = list }
            return (state.list, read)
        }
        switch outcome {
        case nil: break
        case .success(let list)?:
            logger.notice("operators reloaded", ["operators": .integer(list.operators.count)])
        case .failure(let faults)?:
            logger.error("new operators rejected, keeping the old ones", ["error": .error(faults)])
        }
        return list
    }

    private static let interval = Duration.seconds(5)

    private static func content(of file: String) -> [UInt8]? {
        try? SmallFile.read(file, atMost: OperatorFile.longestFile).get()
    }
}
