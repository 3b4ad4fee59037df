package import BellhopJSON
package import ServiceRuntime
import Synchronization

/// The key set in force, which follows its file: read anew within seconds of a change, and at once on SIGHUP.
///
/// A file that cannot be used leaves the keys in force that were, so that a slip of the pen signs nobody out.
package final class TokenKeySource: Service {
    package let name = "token keys"
    private let file: String
    private let logger: Logger
    private let reads: Labelled<Counter>
    private let interval: Duration
    private let state: Mutex<State>
    private let signals: AsyncStream<ProcessSignal>

    private struct State {
        var keys: TokenKeySet
        /// What was last read, whether or not it could be used; nil where the file could not be read.
        var content: [UInt8]?
    }

    /// Throws where the file cannot be used from the start.
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
        // One read for both: what is compared later is what the keys were made of.
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

    /// Reads the file, and puts it into force where it has changed and can be used.
    package func refresh() {
        // Two that look at the same time take turns, so that the older content is never the last one in force.
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
