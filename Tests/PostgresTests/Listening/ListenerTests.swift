import Postgres
import TestSupport
import Testing

@Suite(
    "Listening for notifications",
    .limitedConcurrency,
    .enabled(if: DatabaseFixture.isThere, DatabaseFixture.absence),
    .timeLimit(.ofTest)
)
struct ListenerTests {
    private func notify(_ channel: String, _ payload: String) async throws {
        let pool = PostgresPool(PoolOptions(url: try DatabaseFixture.url()))
        _ = try await pool.run("SELECT pg_notify($1, $2)", [.text(channel), .text(payload)])
        await pool.close()
    }

    /// Returns the next event, in a text that a test can compare.
    private func next(_ events: inout AsyncStream<NotificationListener.Event>.Iterator) async -> String? {
        switch await events.next() {
        case .listening: "listening"
        case .notification(let channel, let payload): "\(channel): \(payload)"
        case .overflowed: "overflowed"
        case .interrupted: "interrupted"
        case nil: nil
        }
    }

    /// Returns the next event that is not a failed attempt to connect, which a busy server may cause.
    private func nextOnceConnected(_ events: inout AsyncStream<NotificationListener.Event>.Iterator) async -> String? {
        var word = await next(&events)
        while word == "interrupted" { word = await next(&events) }
        return word
    }

    @Test("notifications arrive on each channel, including names with capitals and quotes")
    func hears() async throws {
        let (plain, odd) = (Servers.uniqueName("inbox"), Servers.uniqueName("In\"Box"))
        let listener = NotificationListener(ListenerOptions(url: try DatabaseFixture.url(), channels: [plain, odd]))
        var events = listener.events.makeAsyncIterator()
        #expect(await nextOnceConnected(&events) == "listening")
        try await notify(plain, "é 1")
        try await notify(Servers.uniqueName("other"), "not for us")
        try await notify(odd, "")
        #expect(await next(&events) == "\(plain): é 1")
        #expect(await next(&events) == "\(odd): ")
        listener.close()
        #expect(await next(&events) == nil)
    }

    @Test("a lost connection is reported and opened again, and notifications arrive as before")
    func reconnects() async throws {
        let channel = Servers.uniqueName("inbox")
        var options = ListenerOptions(url: try DatabaseFixture.url(), channels: [channel])
        options.applicationName = channel
        let listener = NotificationListener(options)
        var events = listener.events.makeAsyncIterator()
        #expect(await nextOnceConnected(&events) == "listening")
        let pool = PostgresPool(PoolOptions(url: try DatabaseFixture.url()))
        _ = try await pool.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
            [.text(channel)]
        )
        await pool.close()
        #expect(await next(&events) == "interrupted")
        #expect(await nextOnceConnected(&events) == "listening")
        try await notify(channel, "again")
        #expect(await next(&events) == "\(channel): again")
        listener.close()
    }

    @Test("a silent peer is detected by a query")
    func heartbeat() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        let channel = Servers.uniqueName("inbox")
        var options = ListenerOptions(url: try DatabaseFixture.url(through: proxy), channels: [channel])
        options.heartbeat = .milliseconds(50)
        options.connectTimeout = .seconds(10)
        let listener = NotificationListener(options)
        var events = listener.events.makeAsyncIterator()
        #expect(await nextOnceConnected(&events) == "listening")
        try await notify(channel, "first")
        #expect(await next(&events) == "\(channel): first")
        proxy.blackHole(true)
        #expect(await next(&events) == "interrupted")
        proxy.blackHole(false)
        #expect(await nextOnceConnected(&events) == "listening")
        listener.close()
    }

    @Test("an unreachable server is reported with the time of the next attempt")
    func refused() async throws {
        let proxy = try DatabaseFixture.proxy()
        defer { proxy.stop() }
        proxy.refuse(true)
        let listener = NotificationListener(
            ListenerOptions(url: try DatabaseFixture.url(through: proxy), channels: ["c"])
        )
        var events = listener.events.makeAsyncIterator()
        guard case .interrupted(let error, let pause) = await events.next() else {
            Issue.record("a refused listener reports it")
            return
        }
        #expect(error.code == .cannotConnect)
        #expect(pause > .zero)
        proxy.refuse(false)
        #expect(await nextOnceConnected(&events) == "listening")
        listener.close()
    }

    @Test("a listener without references closes its connection")
    func abandoned() async throws {
        let name = Servers.uniqueName("abandoned")
        do {
            var options = ListenerOptions(url: try DatabaseFixture.url(), channels: ["c"])
            options.applicationName = name
            let listener = NotificationListener(options)
            var events = listener.events.makeAsyncIterator()
            #expect(await nextOnceConnected(&events) == "listening")
        }
        try await DatabaseFixture.withPool { pool in
            try await eventually("the backend has ended") {
                try await pool.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", [.text(name)])
                    .integer(0, 0) == 0
            }
        }
    }
}
