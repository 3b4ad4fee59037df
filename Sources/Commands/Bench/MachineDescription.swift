import Foundation
import ServiceRuntime

/// Without which a figure means nothing.
struct MachineDescription: Sendable {
    let cores: Int
    /// The load average before the run; above a few tenths, something else was at work.
    let load: Double?
    let postgres: String
    let isDurable: Bool
    let isOptimised: Bool

    static var coreCount: Int { ProcessInfo.processInfo.activeProcessorCount }
    static let debugWarning = "debug build: these figures do not count"
    #if DEBUG
    static let isBuiltOptimised = false
    #else
    static let isBuiltOptimised = true
    #endif

    init(_ ground: BenchGround, load: Double?) async throws {
        cores = Self.coreCount
        self.load = load
        postgres = try await ground.ledger.serverVersion()
        isDurable = try await ground.ledger.isDurable()
        isOptimised = Self.isBuiltOptimised
    }

    var text: String {
        var parts = [
            "\(cores) cores", "load \(load.map { $0.text(digits: 1) } ?? "unknown") before", "PostgreSQL \(postgres)",
        ]
        if !isDurable { parts.append("fsync or synchronous_commit off: these figures do not count") }
        if !isOptimised { parts.append(Self.debugWarning) }
        return parts.joined(separator: ", ")
    }

    var json: JSONText {
        .object([
            ("cores", .number(cores)), ("loadBefore", load.map { .decimal($0, digits: 2) } ?? .null),
            ("postgres", .text(postgres)), ("durable", .flag(isDurable)), ("optimised", .flag(isOptimised)),
        ])
    }
}
