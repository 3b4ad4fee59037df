import Foundation
import Glibc
import TestSupport

/// A running worker or scheduler, and its endpoint for probes.
struct Role: Sendable {
    let child: ProgramRun
    private let endpoint: String

    init(_ child: ProgramRun) throws {
        self.child = child
        endpoint = try Self.address(of: "operations endpoint", in: child)
    }

    /// Returns the address at which a service of the process listens.
    func address(of service: String) throws -> String {
        try Self.address(of: service, in: child)
    }

    private static func address(of service: String, in child: ProgramRun) throws -> String {
        let lines = child.log.split(separator: "\n").filter { $0.contains("listening") && $0.contains(service) }
        guard let address = lines.first?.split(separator: "address=").last else {
            throw ProofFailure("\(child.name) does not say where its \(service) listens:\n\(child.log)")
        }
        return String(address)
    }

    /// The port of the endpoint.
    var port: UInt16? { URL(string: endpoint)?.port.flatMap(UInt16.init(exactly:)) }

    /// Returns the status and the text of `/readyz`.
    func readiness() async throws -> (status: Int, words: String) {
        try await get("readyz")
    }

    /// Returns all metrics.
    func metrics() async throws -> String {
        try await get("metrics").words
    }

    /// Returns the sum of a metric over all labels; 0 if it is missing.
    func meter(_ name: String) async throws -> Double {
        let lines = try await metrics().split(separator: "\n")
        let samples = lines.filter { $0.hasPrefix(name + "{") || $0.hasPrefix(name + " ") }
        return samples.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }

    private func get(_ path: String) async throws -> (status: Int, words: String) {
        guard let call = PlainCall("\(endpoint)/\(path)") else { throw ProofFailure("\(endpoint) has no port") }
        let answer = try await call.answer()
        return (answer.status, answer.text)
    }

    /// Kills the process with SIGKILL, so that none of its threads can finish anything.
    func killAtOnce() async throws {
        child.send(SIGKILL)
        try await child.ending()
    }

    /// Drains the process and requires success.
    func drain() async throws {
        child.send(SIGTERM)
        let ending = try await child.ending(atMost: .proof)
        guard ending == .exited(0) else { throw ProofFailure("\(child.name): \(ending)\n\(child.log)") }
    }
}

/// The workers in the log of a pool.
extension Role {
    /// Returns the metrics of all workers of a pool that answer.
    func metricsOfAll() async throws -> String {
        let lines = child.log.split(separator: "\n").filter { $0.contains("operations endpoint") }
        var all = ""
        for address in lines.compactMap({ $0.split(separator: "address=").last }) {
            if let answer = try? await PlainCall("\(address)/metrics")?.answer() { all += "\(answer.text)\n" }
        }
        return all
    }

    /// The workers that have been started and have not ended since.
    var livingWorkers: [pid_t] {
        var seats: [Substring: pid_t] = [:]
        for line in child.log.split(separator: "\n") where line.contains(" pool[") {
            let words = line.split(separator: " ")
            guard let seat = words.first(where: { $0.hasPrefix("worker=") }) else { continue }
            if line.contains("worker started") {
                let number = words.first { $0.hasPrefix("child=") }?.split(separator: "=").last
                seats[seat] = number.flatMap { pid_t($0) }
            } else if line.contains("the worker ended") {
                seats[seat] = nil
            }
        }
        return seats.values.sorted()
    }
}
