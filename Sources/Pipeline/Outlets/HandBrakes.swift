import BellhopRules
package import Postgres
import ServiceRuntime
import Store
import Synchronization

/// What operators keep from being sent, as far as this worker knows.
///
/// A hold is a row that every worker reads once a second. What it concerns is recorded as ever, and waits in its outlet's
/// backlog, or in one of its type alone, so that nothing else of that outlet stands behind it.
///
/// Thread safety: all state is behind one lock, which is never held across a suspension.
package final class HandBrakes: Sendable {
    private struct State {
        var scopes: [AppID: [HoldScope]] = [:]
        /// How many still send, though they drain.
        var senders = 0
    }

    private let state = Mutex(State())
    private let store: any OutletStore
    private let logger: Logger
    private let inForce: Labelled<Gauge>

    init(store: any OutletStore, logger: Logger, metrics: MetricsRegistry) {
        self.store = store
        self.logger = logger.labelled("holds")
        inForce = metrics.gauge(
            "bellhop_holds",
            help: "1 while an operator keeps this from being sent; an empty label means all of them.",
            labels: ["app", "type", "provider"]
        )
    }

    /// Between two looks of whoever waits for a release; nobody else is asked meanwhile.
    private static let glance = Duration.seconds(1)

    /// Whether nothing of an app is held; by far the most usual case.
    func isClear(_ app: AppID) -> Bool {
        state.withLock { $0.scopes[app] == nil }
    }

    /// What keeps a shipment from its outlet, with all that it takes along.
    ///
    /// What is of several types waits in the backlog of the whole outlet: in that of one type the others would be held as
    /// well.
    func hold(_ outlet: OutletKey, of shipment: Shipment) -> Hold? {
        let types = shipment.types
        guard types.count > 1 else { return hold(outlet, type: shipment.ownType) }
        guard types.contains(where: { hold(outlet, type: $0) != nil }) else { return nil }
        return Hold(hindrance: .held, backlog: BacklogKey(outlet), wait: Self.glance)
    }

    /// The types that are held by themselves at an outlet.
    func types(heldAt outlet: OutletKey) -> Set<EventType> {
        let scopes = state.withLock { $0.scopes[outlet.app] } ?? []
        return Set(
            scopes.compactMap { scope in
                scope.type.flatMap { scope.covers(outlet.app, provider: outlet.provider, type: $0) ? $0 : nil }
            }
        )
    }

    /// Whether nobody sends any more.
    var isIdle: Bool { state.withLock { $0.senders == 0 } }

    /// Does something that sends: as long as it does, the holds are read, also while it drains.
    func sending(_ body: () async -> Void) async {
        state.withLock { $0.senders += 1 }
        await body()
        state.withLock { $0.senders -= 1 }
    }

    /// What keeps events of a type from an outlet, or all of them where that is nil.
    ///
    /// A hold on the type comes first: what it concerns must not stand before others once a wider one is released.
    func hold(_ outlet: OutletKey, type: EventType?) -> Hold? {
        let scopes = state.withLock { $0.scopes[outlet.app] } ?? []
        guard !scopes.isEmpty else { return nil }
        let own = scopes.filter { $0.covers(outlet.app, provider: outlet.provider, type: type) }
        guard let first = own.first(where: { $0.type != nil }) ?? own.first else { return nil }
        let backlog = first.type.map { BacklogKey(outlet, type: $0) } ?? BacklogKey(outlet)
        return Hold(hindrance: .held, backlog: backlog, wait: Self.glance)
    }

    /// Reads what is held before anything is sent.
    package func load() async throws(PostgresError) {
        let scopes = Set(try await store.holds().map(\.scope))
        let before = state.withLock { state in
            defer { state.scopes = Dictionary(grouping: scopes, by: \.app) }
            return Set(state.scopes.values.joined())
        }
        for scope in scopes.subtracting(before) { tell(scope, isHeld: true) }
        for scope in before.subtracting(scopes) { tell(scope, isHeld: false) }
    }

    /// Reads it anew; where the database cannot be asked, what is known stays in force.
    func refresh() async {
        do throws(PostgresError) {
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
