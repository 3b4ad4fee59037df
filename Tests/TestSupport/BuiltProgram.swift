package import Foundation

/// The program `bellhop` as it was built together with these tests.
package enum BuiltProgram {
    /// Beside the test bundle, which is the program that runs now.
    package static let url: URL = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("bellhop")
    }()

    /// Its path; nil where it is not built.
    package static var path: String? {
        FileManager.default.isExecutableFile(atPath: url.path) ? url.path : nil
    }
}
