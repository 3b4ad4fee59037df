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
    private let state = Mutex<[AppID: [HoldScope]]>([:])
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
        state.withLock { $0[app] == nil }
    }

    /// What keeps events of a type from an outlet, or all of them where that is nil.
    ///
    /// A hold on the type comes first: what it concerns must not stand before others once a wider one is released.
    func hold(_ outlet: OutletKey, type: EventType?) -> Hold? {
        let scopes = state.withLock { $0[outlet.app] } ?? []
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
            defer { state = Dictionary(grouping: scopes, by: \.app) }
            return Set(state.values.joined())
        }
        for scope in scopes.subtracting(before) { tell(scope, isHeld: true) }
        for scope in before.subtracting(scopes) { tell(scope, isHeld: false) }
    }

    /// Reads it anew; where the database cannot be asked, what is known stays in force.
    func refresh() async {
        do throws(PostgresError) {
            try await load()
        } catch {
            logger.warning("the database cannot be asked for holds", ["error": .error(error)])
        }
    }

    private func tell(_ scope: HoldScope, isHeld: Bool) {
        inForce.with(scope.app.text, scope.type?.text ?? "", scope.provider ?? "").set(isHeld ? 1 : 0)
        logger.notice(
            isHeld ? "an operator holds this: it is recorded, and not sent" : "an operator has released this",
            [
                "app": .text(scope.app.text), "type": .text(scope.type?.text ?? "all"),
                "provider": .text(scope.provider ?? "all"),
            ]
        )
    }
}
