package import Postgres

extension HoldAdmin {
    /// Returns the number of deliveries in each backlog that may contain held deliveries of a scope, counted up to
    /// ``StoreStatus/most`` each.
    package func backlogs(of scope: HoldScope) async throws(PostgresError) -> [StoreStatus.Backlog] {
        try await StoreStatus.backlogs(pool).filter { backlog in
            OutletScope(backlog.name).map(scope.mayWait) ?? false
        }
    }
}
