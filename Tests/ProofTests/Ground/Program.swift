import Foundation
import TestSupport

/// Where the things lie that the proofs run.
enum Program {
    /// The program as it was built together with these tests, beside the test bundle, or the one that
    /// `BELLHOP_PROOF_PROGRAM` names.
    static let bellhop = Proof.setting("BELLHOP_PROOF_PROGRAM").map { URL(fileURLWithPath: $0) } ?? BuiltProgram.url

    static let checkout = Checkout.root

    static let catalogs = checkout.appendingPathComponent("deploy/catalogs")
    static let producers = checkout.appendingPathComponent("Tests/ProofTests/Producers")

    /// A program of the system, from the folders of `PATH`; nil where there is none.
    static func find(_ name: String) -> URL? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let places = folders.map { URL(fileURLWithPath: String($0)).appendingPathComponent(name) }
        return places.first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// What every program finds in its environment; nothing of ours beside it, since a setting of this run (a proof's
    /// size) is not one of Bellhop's.
    static let environment: [String: String] = {
        let ours = ProcessInfo.processInfo.environment
        let usual = ["PATH": ours["PATH"] ?? "/usr/bin:/bin", "HOME": ours["HOME"] ?? "/", "LANG": "C.UTF-8"]
        return usual.merging(Sanitizer.settings) { $1 }
    }()
}
