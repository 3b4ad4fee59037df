package import Foundation

/// The checkout that the tests were built from, of which they read pages, catalogues and sources.
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
