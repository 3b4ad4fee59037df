package import BellhopJSON
package import ServiceRuntime
import Synchronization

/// The active issuers and keys, which follow their files and URLs.
///
/// Files are read again within seconds of a change, and immediately on SIGHUP. An invalid file leaves the previous
/// issuers and keys active, so that a typo does not sign out all users.
///
/// Keys by URL are fetched apart from calls. Until the first fetch succeeds, tokens of their issuer are answered with
/// 503; later failures leave the previous keys active.
package final class KeySetProvider: Service {
    typealias Fetch = @Sendable (RemoteKeySource) async -> Result<FetchedKeys, KeyFetchError>

    package let name = "token keys"
    private let configuration: SignInConfiguration
    private let logger: Logger
    private let metrics: KeyMetrics
    private let interval: Duration
    private let time: any TimeSource
    private let fetch: Fetch
    /// The files that were read last, valid or not.
    private let contents: Mutex<[String: [UInt8]?]>
    private let state: Mutex<State>
    private let signals: AsyncStream<ProcessSignal>

    private struct State {
        var issuers: [ConfiguredIssuer]
        var remote: [RemoteKeySource: RemoteKeys] = [:]
        var active = TrustedIssuers([])

        /// Uses the configured issuers and the latest keys for new calls.
        mutating func activate(at now: ContinuousClock.Instant) {
            let sources = issuers.compactMap(\.source)
            let previous = remote
            remote = Dictionary(sources.map { ($0, previous[$0] ?? RemoteKeys(at: now)) }) { first, _ in first }
            active = TrustedIssuers(
                issuers.map { issuer in
                    switch issuer.keys {
                    case .file(let keys): .init(issuer.rules, keys: keys)
                    case .remote(let source): .init(issuer.rules, keys: remote[source]?.keys, source: source)
                    }
                }
            )
        }
    }

    /// Reads the files.
    ///
    /// Throws if one is invalid at the start. Nothing is fetched yet, so that an unavailable issuer does not delay the
    /// start.
    package convenience init(
        _ configuration: SignInConfiguration,
        every interval: Duration = .seconds(5),
        signals: AsyncStream<ProcessSignal>,
        logger: Logger,
        metrics: MetricsRegistry
    ) throws(DocumentFaults) {
        try self.init(configuration, every: interval, signals: signals, logger, metrics, SystemTime(), KeyFetcher.fetch)
    }

    init(
        _ configuration: SignInConfiguration,
        every interval: Duration,
        signals: AsyncStream<ProcessSignal>,
        _ logger: Logger,
        _ metrics: MetricsRegistry,
        _ time: any TimeSource,
        _ fetch: @escaping Fetch
    ) throws(DocumentFaults) {
        self.configuration = configuration
        self.interval = interval
        self.signals = signals
        self.logger = logger.labelled(name)
        self.metrics = KeyMetrics(metrics)
        self.time = time
        self.fetch = fetch
        // The files are read once, so that later comparisons use the content from which the keys were made.
        let files = WatchedFiles()
        let issuers = try configuration.read(files).get()
        contents = Mutex(files.contents)
        var first = State(issuers: issuers)
        first.activate(at: time.steady())
        state = Mutex(first)
        self.metrics.readKeys { [weak self] in self.map { Double($0.current.keyCount) } }
        self.metrics.readAges { [weak self] in self?.ages() ?? [:] }
    }

    package var current: TrustedIssuers { state.withLock { $0.active } }

    package func run(until drain: DrainSignal) async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in await ProcessSignal.attend(signals, until: drain) { self.refresh() } }
            group.addTask { [self] in
                while !drain.isDraining, !Task.isCancelled {
                    await drain.pause(for: interval)
                    if !drain.isDraining { refresh() }
                }
            }
            group.addTask { [self] in await fetchKeys(until: drain) }
        }
    }

    /// Reads the files, and activates their issuers if the content has changed and is valid.
    package func refresh() {
        // Concurrent calls take turns, so that older content is never activated last. Users' calls do not wait for the
        // files.
        let read = contents.withLock { contents -> Result<Int, DocumentFaults>? in
            guard WatchedFiles.haveChanged(contents) else { return nil }
            let files = WatchedFiles()
            let read = configuration.read(files)
            contents = files.contents
            return read.map(activate)
        }
        switch read {
        case nil: return
        case .success(let keys)?:
            metrics.read("accepted")
            logger.notice("token keys reloaded", ["keys": .integer(keys)])
        case .failure(let faults)?:
            metrics.read("refused")
            logger.error("new token keys rejected, keeping the old ones", ["error": .error(faults)])
        }
    }

    /// Uses other issuers from now on, and returns the number of their keys.
    private func activate(_ issuers: [ConfiguredIssuer]) -> Int {
        state.withLock { state in
            state.issuers = issuers
            state.activate(at: time.steady())
            return state.active.keyCount
        }
    }

    /// Schedules a fetch of the keys that a rejected token may need.
    package func noteUnknownKey(of token: String) {
        let now = time.steady()
        state.withLock { state in
            for source in state.active.sources(lackingKeyOf: token) {
                state.remote[source]?.schedule.noteUnknownKey(at: now)
            }
        }
    }

    /// Fetches keys when they are due.
    ///
    /// A slow issuer does not delay the keys of another one.
    private func fetchKeys(until drain: DrainSignal) async {
        await withDiscardingTaskGroup { group in
            while !drain.isDraining, !Task.isCancelled {
                for source in due() { group.addTask { await self.renew(source) } }
                await drain.pause(for: min(interval, .seconds(1)))
            }
            group.cancelAll()
        }
    }

    private func due() -> [RemoteKeySource] {
        let now = time.steady()
        return state.withLock { state in
            Array(state.remote.keys).filter { state.remote[$0]?.schedule.begin(at: now) ?? false }
        }
    }

    /// Fetches the keys of one URL, and activates them if they have changed.
    func renew(_ source: RemoteKeySource) async {
        let outcome = await fetch(source)
        guard !Task.isCancelled else { return }
        let (now, chance) = (time.steady(), Double.random(in: 0..<1))
        switch outcome {
        case .success(let fetched):
            let hasChanged = state.withLock { state in
                guard state.remote[source]?.take(fetched, chance: chance, at: now) == true else { return false }
                state.activate(at: now)
                return true
            }
            metrics.fetched(source, "succeeded")
            guard hasChanged else { return }
            logger.notice("token keys fetched", ["url": .text(source.url), "keys": .integer(fetched.keys.count)])
        case .failure(let error):
            let pause = state.withLock { $0.remote[source]?.schedule.fail(chance: chance, at: now) }
            metrics.fetched(source, "failed")
            logger.warning(
                "token keys cannot be fetched, keeping the old ones",
                ["url": .text(source.url), "error": .error(error), "again": .span(pause ?? .zero)]
            )
        }
    }

    /// Returns the seconds since the latest successful fetch of each URL.
    private func ages() -> [String: Double] {
        let now = time.steady()
        return state.withLock { state in
            let ages = state.remote.compactMap { source, keys in
                keys.fetchedAt.map { (source.url, Double((now - $0).microseconds) / 1_000_000) }
            }
            return Dictionary(ages, uniquingKeysWith: max)
        }
    }
}

extension ConfiguredIssuer {
    fileprivate var source: RemoteKeySource? {
        if case .remote(let source) = keys { source } else { nil }
    }
}
