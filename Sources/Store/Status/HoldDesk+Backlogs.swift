package import Postgres

extension HoldDesk {
    /// How many deliveries wait in each backlog in which something of a scope may wait; no further than to
    /// ``StoreStatus/most`` each.
    package func backlogs(of scope: HoldScope) async throws(PostgresError) -> [StoreStatus.Backlog] {
        try await StoreStatus.backlogs(pool).filter { backlog in
            OutletPart(backlog.name).map(scope.mayWait) ?? false
        }
    }
}
