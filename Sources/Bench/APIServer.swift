import BellhopRules
import Foundation
import Roles
import ServiceRuntime
import Settings

/// A server under load: our `bellhop api`, or a peer for comparison.
struct APIServer: Sendable {
    let name: String
    let port: UInt16
    private let process: BenchChild

    /// Starts our API as in production, except that rate limits are off and that it allows the measured number of
    /// streams.
    static func own(
        _ testbed: Testbed,
        keys: [UInt8],
        streams: Int,
        with others: [String: String?] = [:]
    ) async throws -> APIServer {
        let file = testbed.folder + "/keys.json"
        try Data(keys).write(to: URL(fileURLWithPath: file))
        let process = try testbed.start(
            [APICommand.name],
            log: "api",
            with: [
                Setting.jwtKeys.environmentName: file, Setting.apiListen.environmentName: "127.0.0.1:0",
                Setting.apiRate.environmentName: "user=off,address=off", Setting.providers.environmentName: nil,
                // A quarter of the connections is reserved for calls.
                Setting.apiConnections.environmentName: "total=\(1_024 + streams * 4 / 3),address=off",
            ].merging(others) { $1 }
        )
        while true {
            try process.expectRunning()
            if let port = port(in: process.log) { return APIServer(name: "bellhop", port: port, process: process) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Starts a program that serves the same routes from the same tables.
    ///
    /// It receives `DATABASE_URL`, `SCHEMA`, `KEYS` and `others` as environment variables, and reports its port in a line
    /// `listening PORT` on stderr.
    static func peer(
        _ program: String,
        _ testbed: Testbed,
        with others: [String: String?] = [:]
    ) async throws -> APIServer {
        let file = testbed.folder + "/keys.json"
        let process = try testbed.start(
            program: program,
            log: "peer",
            with: [
                "DATABASE_URL": testbed.setup.configuration.databaseURL?.revealed,
                "SCHEMA": "\(testbed.setup.configuration.namespace)", "KEYS": file,
            ].merging(others) { $1 }
        )
        while true {
            try process.expectRunning()
            let line = process.log.split(separator: "\n").first { $0.hasPrefix("listening ") }
            if let port = line.flatMap({ UInt16($0.dropFirst(10)) }) {
                return APIServer(name: "peer", port: port, process: process)
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Processor seconds used so far.
    var processorTime: Double { ProcessTable.processorTime(of: Int(process.identifier)) ?? 0 }

    /// Returns the resident memory in bytes.
    func residentBytes() throws -> Int {
        try expectRunning()
        guard let memory = ProcessTable.memory(of: Int(process.identifier)) else {
            throw CommandFailure.kernelTellsNothing(of: "the API")
        }
        return memory.now
    }

    func expectRunning() throws { try process.expectRunning() }

    /// Returns the port from the log of our API.
    private static func port(in log: String) -> UInt16? {
        for line in log.split(separator: "\n") {
            guard case .success(.object(let record)) = JSONParser(limits: .event).parse(Array(line.utf8)),
                record["message"]?.string == "listening", record["service"]?.string == "inbox API",
                let address = record["address"]?.string
            else { continue }
            return address.split(separator: ":").last.flatMap { UInt16($0) }
        }
        return nil
    }
}
