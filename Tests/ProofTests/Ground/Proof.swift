import Foundation
import Glibc
import ServiceRuntime
import TestSupport
import Testing

/// What all proofs share: their size, their chance, and a voice for figures.
enum Proof {
    /// `BELLHOP_PROOF_SIZE=full` runs the sizes that are promised; smaller ones otherwise, so that the suite stays fast.
    static let isFull = setting("BELLHOP_PROOF_SIZE") == "full"

    /// Rounds of random input; `BELLHOP_FUZZ_ROUNDS` counts for the rules' own fuzz, too.
    static func rounds(_ usual: Int) -> Int {
        SeededChance.rounds(usual)
    }

    /// Chance whose seed is printed; `BELLHOP_FUZZ_SEED` repeats a run.
    static func chance(_ proof: String) -> SeededChance {
        defer { fflush(nil) }
        return SeededChance.announced("proof: \(proof)")
    }

    static func report(_ line: String) {
        print("proof: \(line)")
        fflush(nil)
    }

    /// The servers that proofs may load but must not break.
    static let hasServers = Servers.amqpURL != nil && Servers.databaseURL != nil
    static let absence: Comment = "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"

    static func setting(_ name: String) -> String? {
        let value = ProcessInfo.processInfo.environment[name]
        return value == "" ? nil : value
    }
}

/// The proofs that load the shared servers, one after the other: side by side they would measure each other.
@Suite("Proofs", .proofInTurn, .serialized, .enabled(if: Proof.hasServers, Proof.absence), .timeLimit(.ofProof))
enum Proofs {}

/// A condition did not come about, or a program did not do its part.
struct ProofFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Runs what blocks on a thread of its own, so that the tests beside it go on.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { answer in
        NativeThread.start(named: "proof-blocking") { answer.resume(with: Result { try body() }) }
    }
}

extension Duration {
    /// Seconds with two digits behind the point.
    var inSeconds: String {
        String(format: "%.2f s", Double(components.seconds) + Double(components.attoseconds) / 1e18)
    }
}
