import Foundation
import TestSupport

/// The locations of the files that the proofs use.
enum Program {
    /// The program that was built together with these tests, next to the test bundle, or the program in
    /// `BELLHOP_PROOF_PROGRAM`.
    static let bellhop = Proof.setting("BELLHOP_PROOF_PROGRAM").map { URL(fileURLWithPath: $0) } ?? BuiltProgram.url

    static let checkout = Checkout.root

    static let catalogs = checkout.appendingPathComponent("deploy/catalogs")
    static let producers = checkout.appendingPathComponent("Tests/ProofTests/Producers")

    /// Returns a program of the system from the folders of `PATH`; `nil` if there is none.
    static func find(_ name: String) -> URL? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let places = folders.map { URL(fileURLWithPath: String($0)).appendingPathComponent(name) }
        return places.first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// The environment of every program.
    ///
    /// It contains no other variables of this process, since a setting of this run (a proof's size) is not a setting of
    /// Bellhop.
    static let environment: [String: String] = {
        let ours = ProcessInfo.processInfo.environment
        let usual = ["PATH": ours["PATH"] ?? "/usr/bin:/bin", "HOME": ours["HOME"] ?? "/", "LANG": "C.UTF-8"]
        return usual.merging(Sanitizer.settings) { $1 }
    }()
}
