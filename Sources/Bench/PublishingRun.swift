import AMQP
import API
import BellhopRules
import CLI
import Cryptography
import Foundation
import Operations
import Roles
import ServiceRuntime
import Settings

/// Workload W6: events published by HTTP, one for each call.
///
/// A peer, if given, publishes to the same exchange and is measured in alternation. No worker runs.
struct PublishingRun: Sendable {
    let connections: Int
    /// Duration of one server's turn.
    let seconds: Double
    /// The peer's program, or `nil` for none.
    let peer: String?
    let say: @Sendable (String) -> Void

    /// The figures of one server, one element for each turn.
    private struct Figures {
        let server: String
        var rates: [Double] = []
        var costs: [Double] = []
        var delays: [Double] = []

        var perSecond: Double { Quantile.of(rates.sorted(), 0.5) }
        var cost: Double { Quantile.of(costs.sorted(), 0.5) }

        var text: String {
            let figures = "\(perSecond.text(digits: 0)) confirmed events per second"
            let delay = Quantile.of(delays.sorted(), 0.99).text(digits: 1)
            return server.padding(to: 10) + figures + ", \(cost.text(digits: 1)) µs of processor each, p99 \(delay) ms"
        }

        var json: JSONValue {
            .members([
                ("server", .string(server)), ("eventsPerSecond", .decimal(perSecond, digits: 1)),
                ("cpuMicrosecondsPerEvent", .decimal(cost, digits: 2)),
                ("p50", .decimal(Quantile.of(delays.sorted(), 0.5), digits: 3)),
                ("p99", .decimal(Quantile.of(delays.sorted(), 0.99), digits: 3)),
            ])
        }
    }

    func measure(on testbed: Testbed) async throws -> BenchReport {
        guard let app = AppID(validating: Workload.appName) else {
            throw CommandFailure.kernelTellsNothing(of: "the app of the benchmark")
        }
        let (account, token) = try PublisherAccount.registered(as: "bench", app: app, types: nil)
        let file = testbed.folder + "/publishers.json"
        try Data(PublisherFile([account]).text).write(to: URL(fileURLWithPath: file))
        let keys = try TokenIssuer(key: .generateP256()).keySet
        let own = [Setting.publishers.environmentName: file]
        var servers = [try await APIServer.own(testbed, keys: keys, streams: 0, with: own)]
        if let peer {
            let types = try testbed.setup.catalogs()[app]?.types.map(\.type.text) ?? []
            let environment: [String: String?] = [
                "AMQP_URL": testbed.setup.configuration.amqpURL?.revealed, "EXCHANGE": testbed.names.events,
                "TOKEN_HASH": Base64URL.encode(account.tokenHash), "TYPES": types.joined(separator: ","),
            ]
            servers.append(try await APIServer.peer(peer, testbed, with: environment))
        }
        for server in servers { try await Self.waitForBroker(server, Self.requests(token, turn: "start")) }
        _ = try await testbed.purgeQueues()
        let load = ProcessTable.load()
        var faults: [String] = []
        var results = servers.map { Figures(server: $0.name) }
        // Without a peer there is nothing to alternate with.
        for turn in 0..<(peer == nil ? 1 : Self.turns) {
            // The servers take the first place of a turn alternately.
            let order = servers.indices.map { ($0 + turn) % servers.count }
            for place in order {
                let server = servers[place]
                say("\(server.name), turn \(turn + 1)")
                try await measure(
                    server,
                    &results[place],
                    Self.requests(token, turn: "\(turn)-\(place)"),
                    testbed,
                    &faults
                )
            }
        }
        return report(results, try await MachineDescription(testbed, load: load), faults)
    }

    private static let turns = 6

    /// Waits until a server has connected to the broker and accepts an event: it listens before.
    private static func waitForBroker(
        _ server: APIServer,
        _ request: @Sendable (Int) -> [UInt8]
    ) async throws {
        while true {
            try server.expectRunning()
            if var connection = LoadConnection(port: server.port), connection.exchange(request(0))?.status == 202 {
                return
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func measure(
        _ server: APIServer,
        _ figures: inout Figures,
        _ request: @escaping @Sendable (Int) -> [UInt8],
        _ testbed: Testbed,
        _ faults: inout [String]
    ) async throws {
        let used = server.processorTime
        var load = APILoad(port: server.port, connections: connections, seconds: seconds)
        load.success = 202
        let outcome = await load.run(request)
        let processor = server.processorTime - used
        try server.expectRunning()
        figures.rates.append(outcome.perSecond)
        figures.costs.append(outcome.answered > 0 ? processor / Double(outcome.answered) * 1e6 : 0)
        figures.delays += outcome.delays
        if outcome.failures > 0 { faults.append("\(outcome.failures) calls failed at \(server.name)") }
        let stored = try await testbed.purgeQueues()
        if stored != outcome.answered {
            faults.append("\(server.name) answered \(outcome.answered) events, and the queues held \(stored)")
        }
    }

    /// Returns the call with a number, as bytes that are ready to be sent.
    private static func requests(_ token: String, turn: String) -> @Sendable (Int) -> [UInt8] {
        let head =
            "POST /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n"
            + "Content-Type: application/json\r\nContent-Length: "
        return { number in
            let body =
                #"{"id":"bench-\#(turn)-\#(number)","app":"drop","eventType":"qr_payment","to":{"user":"u\#(number % 1_000)"},"#
                + #""title":"QR-betaling","body":"129 kr betalt til Kaffebrenneriet","data":{"amount":"129 kr"},"#
                + #""route":"/transactions","targetId":"tx_\#(number)"}"#
            return Array("\(head)\(body.utf8.count)\r\n\r\n\(body)".utf8)
        }
    }

    private func report(_ results: [Figures], _ machine: MachineDescription, _ faults: [String]) -> BenchReport {
        var figures: [BenchReport.Figure] = [
            .told("connections", .int(connections)), .told("servers", .array(results.map(\.json))),
        ]
        figures += results.map { .shown($0.text) }
        if results.count == 2 {
            let events = TurnRatio(results[0].rates, results[1].rates)
            let cost = TurnRatio(results[0].costs, results[1].costs)
            figures.append(.shown("against the peer: \(events.text) × the events, \(cost.text) × the processor time"))
            figures.append(.told("ratios", .members([("events", events.json), ("cpu", cost.json)])))
        }
        return BenchReport(
            "W6",
            "W6: events published by HTTP, one for each call, \(connections) connections",
            machine,
            figures,
            Verification(of: 0, faults)
        )
    }
}

extension Testbed {
    /// Removes the messages of all queues and returns their number.
    func purgeQueues() async throws -> Int {
        let queues = setup.plan(try setup.catalogs()).queues.map(\.name)
        return try await BrokerSession.with(try setup.broker(), name: "bellhop bench, purging") { session in
            var count = 0
            for queue in queues { count += try session.purge(queue) }
            return count
        }
    }
}
