import Foundation
import Glibc
import ServiceRuntime
import TestSupport
import Testing

/// Settings that all proofs share: size, randomness and reports.
enum Proof {
    /// Whether the promised sizes run, set by `BELLHOP_PROOF_SIZE=full`.
    ///
    /// Otherwise the sizes are smaller, so that the suite stays fast.
    static let isFull = setting("BELLHOP_PROOF_SIZE") == "full"

    /// Returns the rounds of random input; `BELLHOP_FUZZ_ROUNDS` also applies to the rules' fuzz tests.
    static func rounds(_ usual: Int) -> Int {
        SeededChance.rounds(usual)
    }

    /// Returns a random number generator whose seed is printed; `BELLHOP_FUZZ_SEED` repeats a run.
    static func chance(_ proof: String) -> SeededChance {
        defer { fflush(nil) }
        return SeededChance.announced("proof: \(proof)")
    }

    static func report(_ line: String) {
        print("proof: \(line)")
        fflush(nil)
    }

    /// Whether the shared servers are available, which proofs may load but must not break.
    static let hasServers = Servers.amqpURL != nil && Servers.databaseURL != nil
    static let absence: Comment = "needs BELLHOP_AMQP_URL and BELLHOP_DATABASE_URL"

    static func setting(_ name: String) -> String? {
        let value = ProcessInfo.processInfo.environment[name]
        return value == "" ? nil : value
    }
}

/// The proofs that load the shared servers, run one at a time: concurrently they would measure each other.
@Suite(
    "Proofs",
    .limitedProofConcurrency,
    .serialized,
    .enabled(if: Proof.hasServers, Proof.absence),
    .timeLimit(.ofProof)
)
enum Proofs {}

/// A condition that was not met, or a program that failed.
struct ProofFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Runs a blocking body on a separate thread, so that the other tests continue.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { answer in
        NativeThread.start(named: "proof-blocking") { answer.resume(with: Result { try body() }) }
    }
}

extension Duration {
    /// The seconds with two decimal places.
    var inSeconds: String {
        String(format: "%.2f s", Double(components.seconds) + Double(components.attoseconds) / 1e18)
    }
}
