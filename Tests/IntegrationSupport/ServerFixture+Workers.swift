import Store

extension ServerFixture {
    /// Adds the heartbeat of a worker that does not run, an hour ahead, so that it counts however long the test takes.
    package func addWorker() async throws {
        let identity = Heartbeat.Identity(id: "w1", role: "worker", version: "0.1.0", host: "h", process: 7)
        try await HeartbeatStore(pool: pool).announce(Heartbeat(identity, catalogs: "same"))
        _ = try await owner.run("UPDATE processes SET seen_at = now() + interval '1 hour'")
    }
}
