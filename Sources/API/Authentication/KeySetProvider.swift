package import BellhopJSON
package import ServiceRuntime
import Synchronization

/// The active key set, which follows its file.
///
/// It is read again within seconds of a change, and immediately on SIGHUP. An invalid file leaves the previous keys
/// active, so that a typo does not sign out all users.
package final class KeySetProvider: Service {
    package let name = "token keys"
    private let file: String
    private let logger: Logger
    private let reads: LabelledMetric<Counter>
    private let interval: Duration
    private let state: Mutex<State>
    private let signals: AsyncStream<ProcessSignal>

    private struct State {
        var keys: TokenKeySet
        /// The last content, valid or not, or `nil` if the file could not be read.
        var content: [UInt8]?
    }

    /// Reads the file.
    ///
    /// Throws if it is invalid at the start.
    package init(
        file: String,
        every interval: Duration = .seconds(5),
        signals: AsyncStream<ProcessSignal>,
        logger: Logger,
        metrics: MetricsRegistry
    ) throws(DocumentFaults) {
        self.file = file
        self.interval = interval
        self.signals = signals
        self.logger = logger.labelled(name)
        reads = metrics.counter(
            "bellhop_token_key_reads_total",
            help: "Key sets that were read because their file had changed: accepted, or refused and the old ones kept.",
            labels: ["outcome"]
        )
        // The file is read once, so that later comparisons use the content from which the keys were made.
        let content = Self.content(of: file)
        let keys = content.map { TokenKeySet.read($0, file: file) } ?? TokenKeySet.read(file: file)
        state = Mutex(State(keys: try keys.get(), content: content))
        metrics.gauge("bellhop_token_keys", help: "Keys that tokens are checked with.") { [weak self] in
            self.map { Double($0.current.count) }
        }
    }

    package var current: TokenKeySet { state.withLock { $0.keys } }

    package func run(until drain: DrainSignal) async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await ProcessSignal.attend(signals, until: drain) { self.refresh() } }
            group.addTask { [self] in
                while !drain.isDraining, !Task.isCancelled {
                    await drain.pause(for: interval)
                    if !drain.isDraining { refresh() }
                }
            }
        }
    }

    /// Reads the file, and activates the keys if the content has changed and is valid.
    package func refresh() {
        // Concurrent calls take turns, so that older content is never activated last.
        let read = state.withLock { state -> Result<TokenKeySet, DocumentFaults>? in
            let content = Self.content(of: file)
            guard state.content != content else { return nil }
            state.content = content
            let read = content.map { TokenKeySet.read($0, file: file) } ?? TokenKeySet.read(file: file)
            if case .success(let keys) = read { state.keys = keys }
            return read
        }
        switch read {
        case nil: return
        case .success(let keys)?:
            reads.with("accepted").increment()
            logger.notice("token keys reloaded", ["keys": .integer(keys.count)])
        case .failure(let faults)?:
            reads.with("refused").increment()
            logger.error("new token keys rejected, keeping the old ones", ["error": .error(faults)])
        }
    }

    private static func content(of file: String) -> [UInt8]? {
        try? SmallFile.read(file, atMost: TokenKeySet.longestFile).get()
    }
}
