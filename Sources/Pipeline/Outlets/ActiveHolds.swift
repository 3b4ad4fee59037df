import BellhopRules
import ServiceRuntime
package import Store
import Synchronization

/// The operators' holds, according to this worker's last poll.
///
/// A hold is a row that every worker reads once per second. The deliveries that it covers are recorded as usual, and
/// wait in their outlet's backlog. If the hold is on one type, they wait in a backlog of that type, so that they do not
/// block other deliveries of the outlet.
///
/// Thread safety: all state is behind one lock, which is never held across a suspension.
package final class ActiveHolds: Sendable {
    private struct State {
        var scopes: [AppID: [HoldScope]] = [:]
        var numbers: [Int64] = []
        var discarded: [EventID: [DiscardedEvent]] = [:]
        /// The number of running ``sending(_:)`` calls, with or without a drain.
        var senders = 0
    }

    private let state = Mutex(State())
    private let store: any OutletStore
    private let logger: Logger
    private let inForce: LabelledMetric<Gauge>

    init(store: any OutletStore, logger: Logger, metrics: MetricsRegistry) {
        self.store = store
        self.logger = logger.labelled("holds")
        inForce = metrics.gauge(
            "bellhop_holds",
            help: "1 while an operator keeps this from being sent; an empty label means all of them.",
            labels: ["app", "type", "provider"]
        )
    }

    /// The interval between two checks of a backlog that waits for a release.
    ///
    /// A check makes no query.
    private static let interval = Duration.seconds(1)

    /// Whether no hold concerns an app, which is by far the most frequent case.
    func isClear(_ app: AppID) -> Bool {
        state.withLock { $0.scopes[app] == nil }
    }

    /// Returns the hold that keeps a shipment, with all deliveries that it includes, from its outlet.
    ///
    /// A shipment of several types waits in the backlog of the whole outlet. In the backlog of one type, its deliveries
    /// of other types would be held as well.
    func obstacle(at outlet: OutletKey, to shipment: OutgoingDelivery) -> Obstacle? {
        let types = shipment.types
        guard types.count > 1 else { return obstacle(at: outlet, type: shipment.ownType) }
        guard types.contains(where: { obstacle(at: outlet, type: $0) != nil }) else { return nil }
        return Obstacle(gate: .hold, backlog: BacklogKey(outlet), wait: Self.interval)
    }

    /// Returns the types that are held separately at an outlet.
    func types(heldAt outlet: OutletKey) -> Set<EventType> {
        let scopes = state.withLock { $0.scopes[outlet.app] } ?? []
        return Set(
            scopes.compactMap { scope in
                scope.type.flatMap { scope.covers(outlet.app, provider: outlet.provider, type: $0) ? $0 : nil }
            }
        )
    }

    /// The numbers of the holds that this worker observes.
    package var numbers: [Int64] { state.withLock(\.numbers) }

    /// Whether no caller sends.
    var isIdle: Bool { state.withLock { $0.senders == 0 } }

    /// Runs a body that sends shipments.
    ///
    /// While it runs, the holds are still read, even during a drain.
    func sending(_ body: () async -> Void) async {
        state.withLock { $0.senders += 1 }
        await body()
        state.withLock { $0.senders -= 1 }
    }

    /// Returns the hold that keeps events of a type from an outlet, or all events if the type is `nil`.
    ///
    /// A hold on the type has precedence. Otherwise its deliveries would be ahead of others in the outlet's backlog
    /// when a wider hold is released.
    func obstacle(at outlet: OutletKey, type: EventType?) -> Obstacle? {
        let scopes = state.withLock { $0.scopes[outlet.app] } ?? []
        guard !scopes.isEmpty else { return nil }
        let own = scopes.filter { $0.covers(outlet.app, provider: outlet.provider, type: type) }
        guard let first = own.first(where: { $0.type != nil }) ?? own.first else { return nil }
        let backlog = first.type.map { BacklogKey(outlet, type: $0) } ?? BacklogKey(outlet)
        return Obstacle(gate: .hold, backlog: backlog, wait: Self.interval)
    }

    /// Returns whether an operator has discarded a delivery that a killed worker had claimed.
    ///
    /// Without a killed worker, the discard itself ends the delivery. A delivery that was recorded after the discard
    /// began, or whose send has no unknown outcome, was not meant.
    func isDiscarded(_ shipment: OutgoingDelivery, recordedAt: Timestamp) -> Bool {
        guard shipment.isRepeat, let events = state.withLock({ $0.discarded[shipment.event] }) else { return false }
        return events.contains { discarded in
            recordedAt <= discarded.at
                && discarded.scope.covers(shipment.app, provider: shipment.outlet.provider, type: shipment.ownType)
        }
    }

    /// Reads the holds and the discarded events before anything is sent.
    package func load() async throws(StoreError) {
        let holds = try await store.holds()
        let discarded: Result<[DiscardedEvent], StoreError>
        do throws(StoreError) {
            discarded = .success(try await store.discardedEvents())
        } catch {
            discarded = .failure(error)
        }
        let scopes = Set(holds.map(\.scope))
        let before = state.withLock { state in
            defer {
                state.scopes = Dictionary(grouping: scopes, by: \.app)
                state.numbers = holds.map(\.number).sorted()
                if case .success(let events) = discarded {
                    state.discarded = Dictionary(grouping: events, by: \.event)
                }
            }
            return Set(state.scopes.values.joined())
        }
        for scope in scopes.subtracting(before) { tell(scope, isHeld: true) }
        for scope in before.subtracting(scopes) { tell(scope, isHeld: false) }
        _ = try discarded.get()
    }

    /// Reads the holds again.
    ///
    /// If the database is unavailable, the known holds stay in effect.
    func refresh() async {
        do throws(StoreError) {
            try await load()
        } catch {
            logger.warning("cannot read holds", ["error": .error(error)])
        }
    }

    private func tell(_ scope: HoldScope, isHeld: Bool) {
        inForce.with(scope.app.text, scope.type?.text ?? "", scope.provider ?? "").set(isHeld ? 1 : 0)
        logger.notice(
            isHeld ? "hold active, deliveries deferred" : "hold released",
            [
                "app": .text(scope.app.text), "type": .text(scope.type?.text ?? "all"),
                "provider": .text(scope.provider ?? "all"),
            ]
        )
    }
}
