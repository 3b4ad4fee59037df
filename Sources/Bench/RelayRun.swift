import AMQP
import BellhopRules
import Operations
import Roles
import ServiceRuntime
import Settings
import Store

/// Measures the rate at which relays move the rows of an outbox to the broker, without workers.
struct RelayRun: Sendable {
    let rows: Int
    let relays: Int

    func measure(on testbed: Testbed) async throws -> BenchReport {
        try await testbed.outbox.create()
        let url = try testbed.outboxURL()
        let children = try (1...relays).map { number in
            // A relay needs no providers, and no stub has written their file.
            try testbed.start(
                [RelayCommand.name],
                log: "relay\(number)",
                with: [Setting.relayURL.environmentName: url, Setting.providers.environmentName: nil]
            )
        }
        // One row proves that the relays have their connections.
        try await testbed.outbox.write(1)
        try await empty(testbed, children)
        let load = ProcessTable.load()
        let before = children.map { ProcessTable.processorTime(of: Int($0.identifier)) ?? 0 }
        try await testbed.outbox.write(rows)
        let began = ContinuousClock.now
        try await empty(testbed, children)
        let seconds = (ContinuousClock.now - began).secondsAsDouble
        let after = children.map { ProcessTable.processorTime(of: Int($0.identifier)) ?? 0 }
        let memory = children.compactMap { ProcessTable.memory(of: Int($0.identifier))?.peak }.max() ?? 0
        for child in children { await child.end() }
        let arrived = try await testbed.takeLanes()
        let rate = Double(rows) / seconds
        let cost = (after.reduce(0, +) - before.reduce(0, +)) * 1e6 / Double(rows)
        var report = BenchReport(
            workload: "relay",
            title: "\(rows) rows of an outbox through \(relays.of("relay"))",
            machine: try await MachineDescription(testbed, load: load),
            figures: [
                .both("rows per second", Int(rate).grouped, "rowsPerSecond", .decimal(rate, digits: 1)),
                .both("seconds", seconds.text(digits: 2), "seconds", .decimal(seconds, digits: 3)),
                .both(
                    "processor per row",
                    cost.text(digits: 1) + " µs",
                    "microsecondsPerRow",
                    .decimal(cost, digits: 2)
                ),
                .both("memory at its highest", memory.megabytes, "peakBytes", .int(memory)),
                .both("messages at the broker", arrived.grouped, "messages", .int(arrived)),
            ]
        )
        // A kill is not part of this run, so that no row may be published twice.
        report.isRight = arrived == rows + 1
        return report
    }

    /// Waits until the outbox is empty.
    private func empty(_ testbed: Testbed, _ children: [BenchChild]) async throws {
        while try await testbed.outbox.waiting() > 0 {
            for child in children { try child.expectRunning() }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}

extension Testbed {
    /// The URL of the database with this namespace's schema as the search path.
    fileprivate func outboxURL() throws -> String {
        guard let url = setup.configuration.databaseURL?.revealed else { throw CommandContext.missing(.databaseURL) }
        return url + (url.contains("?") ? "&" : "?") + "options=-csearch_path%3D\(setup.configuration.namespace)"
    }

    /// Removes the messages of all lanes and returns their number.
    fileprivate func takeLanes() async throws -> Int {
        let queues = Lane.allCases.map(names.lane)
        return try await BrokerSession.with(try setup.broker(), name: "bellhop bench, counting") { session in
            try queues.map { try session.purge($0) }.reduce(0, +)
        }
    }
}
