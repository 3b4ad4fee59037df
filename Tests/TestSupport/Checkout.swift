package import Foundation

/// The checkout from which the tests were built, with the pages, catalogues and sources that they read.
package enum Checkout {
    package static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    package static func file(_ path: String) -> URL {
        root.appendingPathComponent(path)
    }

    package static func text(_ path: String) throws -> String {
        try String(contentsOf: file(path), encoding: .utf8)
    }
}
