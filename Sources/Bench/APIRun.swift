import BellhopRules
import Foundation
import ServiceRuntime
import Store

/// Workload W5: the inbox API under load, route by route.
///
/// A peer, if given, reads the same tables and is measured in alternation.
struct APIRun: Sendable {
    /// Users with an inbox.
    ///
    /// Each is signed in.
    let workload: Workload
    /// Notifications per user.
    let stored: Int
    let connections: Int
    /// Streams that are open at the same time at the end, at most ten per user.
    let streams: Int
    /// Duration of one server's turn.
    let seconds: Double
    /// The peer's program, or `nil` for none.
    let peer: String?
    let say: @Sendable (String) -> Void

    /// Without a peer there is nothing to alternate with.
    private var turns: Int { peer == nil ? 1 : 3 }

    func measure(on testbed: Testbed) async throws -> BenchReport {
        say("filling \(workload.users) inboxes with \(stored) notifications each")
        try await testbed.seed(workload)
        try await testbed.inboxes.fill(each: stored)
        let requests = try APIRequests(workload)
        var servers = [try await APIServer.own(testbed, keys: requests.keySet, streams: streams)]
        if let peer { servers.append(try await APIServer.peer(peer, testbed)) }
        let load = ProcessTable.load()
        var faults = try Comparison(requests: requests).faults(of: servers)
        var results: [APIResult] = []
        for route in APIRequests.Route.allCases {
            results += try await measure(route, servers, requests, testbed, &faults)
        }
        let crowd = try await open(servers[0], requests, &faults)
        return report(results, crowd, try await MachineDescription(testbed, load: load), faults)
    }

    private func measure(
        _ route: APIRequests.Route,
        _ servers: [APIServer],
        _ requests: APIRequests,
        _ testbed: Testbed,
        _ faults: inout [String]
    ) async throws -> [APIResult] {
        var results = servers.map { APIResult(route: route, server: $0.name) }
        for turn in 0..<turns {
            for (place, server) in servers.enumerated() {
                say("\(route.words), \(server.name), turn \(turn + 1)")
                let used = server.processorTime
                let outcome = try await call(server, route, requests, testbed, nil, &faults)
                let processor = server.processorTime - used
                results[place].add(outcome, processor: processor)
            }
        }
        for (place, server) in servers.enumerated() {
            say("\(route.words), \(server.name), half of that")
            let half = max(1, results[place].perSecond / 2)
            results[place].halfLoad = try await call(server, route, requests, testbed, half, &faults)
        }
        return results
    }

    private func call(
        _ server: APIServer,
        _ route: APIRequests.Route,
        _ requests: APIRequests,
        _ testbed: Testbed,
        _ rate: Double?,
        _ faults: inout [String]
    ) async throws -> APILoad.Outcome {
        if route == .read { try await testbed.inboxes.forgetReading() }
        let load = APILoad(port: server.port, connections: connections, seconds: seconds, rate: rate)
        let outcome = await load.run { requests.request(route, $0) }
        try server.expectRunning()
        if outcome.failures > 0 {
            faults.append("\(outcome.failures) calls of \(route.words) failed at \(server.name)")
        }
        guard route == .read else { return outcome }
        let read = try await testbed.inboxes.read(from: 1, through: stored)
        // After the last unread notification the calls start again and change nothing.
        let most = min(outcome.answered, workload.users * stored)
        if outcome.changed != most || read != most {
            faults.append("\(server.name) said \(outcome.changed) and marked \(read) of \(most) as read")
        }
        return outcome
    }

    private func open(
        _ server: APIServer,
        _ requests: APIRequests,
        _ faults: inout [String]
    ) async throws -> StreamLoad.Outcome? {
        guard streams > 0 else { return nil }
        say("opening \(streams) streams")
        let crowd = try await StreamLoad(server: server, count: streams).open(requests)
        if crowd.open < streams { faults.append("only \(crowd.open) of \(streams) streams were open") }
        return crowd
    }

    private func report(
        _ results: [APIResult],
        _ crowd: StreamLoad.Outcome?,
        _ machine: MachineDescription,
        _ faults: [String]
    ) -> BenchReport {
        var figures: [BenchReport.Figure] = [
            .told("users", .int(workload.users)), .told("stored", .int(stored)),
            .told("connections", .int(connections)),
            .told("routes", .array(results.map(\.json))),
        ]
        figures += results.map { .shown($0.text) }
        if peer != nil {
            let comparisons = APIRequests.Route.allCases.compactMap { route in
                APIResult.ratios(results.filter { $0.route == route })
            }
            figures += comparisons.map { .shown($0.text) }
            figures.append(.told("ratios", .array(comparisons.map(\.json))))
        }
        if let crowd { figures += [.shown(crowd.text), .told("streams", crowd.json)] }
        return BenchReport(
            "W5",
            "W5: the inbox API, \(workload.users) users with \(stored) notifications, \(connections) connections",
            machine,
            figures,
            Verification(of: workload.users * stored, faults)
        )
    }
}

extension Verification {
    /// Creates the verification of a run that delivers nothing: the stored notifications and the faults found.
    init(of notifications: Int, _ faults: [String]) {
        self.init(
            expectedEvents: notifications,
            notifications: notifications,
            distinctNotifications: notifications,
            expectedEndings: [:],
            endings: [:],
            hasDeadLetters: false,
            expectedPushes: 0,
            pushes: nil,
            others: faults
        )
    }
}
