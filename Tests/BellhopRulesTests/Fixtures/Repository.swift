import BellhopRules
import Foundation
import TestSupport
import Testing

/// Files of the repository that tests compare with the code.
enum Repository {
    private static let root = Checkout.root

    static func path(_ path: String) -> String {
        root.appendingPathComponent(path).path
    }

    static func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: root.appendingPathComponent(path)))
    }

    static func text(_ path: String) throws -> String {
        String(decoding: try bytes(path), as: UTF8.self)
    }

    /// The apps with shipped catalogues.
    static let apps = ["drop", "safe", "venues", "padel", "daily"]

    /// Returns the shipped catalogue of drop.
    static func drop() throws -> CatalogSet { try readDrop.get() }

    /// Returns all shipped catalogues.
    static func catalogs() throws -> CatalogSet { try readAll.get() }

    // Read once, because a debug build reads catalogues slowly.
    private static let readDrop = Result { try read(["drop"]) }
    private static let readAll = Result { try read(apps) }

    private static func read(_ apps: [String]) throws -> CatalogSet {
        let files = try apps.map { ("\($0).json5", try bytes("deploy/catalogs/\($0).json5")) }
        return try CatalogSet.load(files: files).get()
    }

    /// Returns the shipped catalogue of one app.
    static func catalog(_ app: String) throws -> Catalog {
        let app = try #require(AppID(validating: app))
        return try #require(try catalogs()[app])
    }
}
