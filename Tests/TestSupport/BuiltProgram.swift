package import Foundation

/// The program `bellhop` that was built together with these tests.
package enum BuiltProgram {
    /// The program's file, next to the test bundle, which is the running program.
    package static let url: URL = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("bellhop")
    }()

    /// The program's path; `nil` if it is not built.
    package static var path: String? {
        FileManager.default.isExecutableFile(atPath: url.path) ? url.path : nil
    }
}
