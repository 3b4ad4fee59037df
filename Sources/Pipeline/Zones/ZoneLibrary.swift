package import BellhopRules
import Foundation
import Synchronization

/// The zones of this machine's tz database, each read when it is first asked for and kept from then on.
///
/// A new tzdata counts from the next start of the process. Names come from users, so a name without a zone is a nil
/// that the caller has an answer to, and what is kept is bounded. A first look reads a file of a few kilobytes.
package final class ZoneLibrary: Sendable {
    /// Where the database lies.
    package let folder: String
    private let shelf = Mutex(Shelf())

    private struct Shelf {
        var zones: [TimeZoneName: Zone?] = [:]
        var links: ZoneLinks?
    }

    /// More names than any tz database has; past it, the library starts again from nothing.
    private static let capacity = 2_048
    /// The largest file of a zone has four kilobytes.
    private static let longestFile = 65_536
    /// Names for what the machine's owner has chosen: no place that a user could live in.
    private static let machineNames: Set<String> = ["localtime", "posixrules"]

    /// The database in a folder.
    package init(folder: String) {
        self.folder = folder
    }

    /// The machine's own database: where `TZDIR` says, as for every other program, or `/usr/share/zoneinfo`.
    package convenience init(environment: [String: String]) {
        let named = environment["TZDIR"] ?? ""
        self.init(folder: named.isEmpty ? "/usr/share/zoneinfo" : named)
    }

    /// Whether there is a database at all.
    package var isThere: Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// The zone of a name; nil where the database has none, or only one that cannot be used.
    ///
    /// A former name that the database lists without giving it a file (`Asia/Calcutta` on Debian 13, which browsers
    /// still say) is found by its present one, and keeps the name that was asked for.
    package subscript(name: TimeZoneName) -> Zone? {
        if let known = shelf.withLock({ $0.zones[name] }) { return known }
        let zone = read(name.text, as: name) ?? links().target(of: name.text).flatMap { read($0, as: name) }
        shelf.withLock { shelf in
            if shelf.zones.count >= Self.capacity { shelf.zones = [:] }
            shelf.zones[name] = .some(zone)
        }
        return zone
    }

    private func read(_ path: String, as name: TimeZoneName) -> Zone? {
        guard let place = place(of: path), let bytes = Self.bytes(of: place, atMost: Self.longestFile) else {
            return nil
        }
        return try? Zone(name: name, tzif: bytes)
    }

    /// The file of a name, with every link followed; nil where that leaves the folder.
    private func place(of path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !Self.machineNames.contains(path), !parts.contains(where: { $0.isEmpty || $0.hasPrefix(".") }) else {
            return nil
        }
        let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
        let place = URL(fileURLWithPath: root).appendingPathComponent(path).resolvingSymlinksInPath().path
        return place.hasPrefix(root + "/") ? place : nil
    }

    private func links() -> ZoneLinks {
        if let known = shelf.withLock({ $0.links }) { return known }
        let bytes = Self.bytes(of: folder + "/tzdata.zi", atMost: ZoneLinks.longestFile)
        let links = ZoneLinks(bytes ?? [])
        shelf.withLock { $0.links = links }
        return links
    }

    /// The whole file; nil where there is none, or a longer one.
    private static func bytes(of path: String, atMost limit: Int) -> [UInt8]? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let content = try? handle.read(upToCount: limit + 1), content.count <= limit else { return nil }
        return [UInt8](content)
    }
}
