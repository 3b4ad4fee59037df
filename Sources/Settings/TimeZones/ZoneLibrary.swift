package import BellhopRules
import Foundation
package import ServiceRuntime
import Synchronization

/// The zones of this machine's tz database, each read at its first use and cached.
///
/// A new tzdata takes effect at the next start of the process. Names come from users, so an unknown name results in
/// `nil`, which the caller handles, and the cache is bounded. The first use of a name reads a file of a few kilobytes.
package final class ZoneLibrary: Sendable {
    /// The folder of the database.
    package let folder: String
    private let shelf = Mutex(Cache())

    private struct Cache {
        var zones: [TimeZoneName: Zone?] = [:]
        var links: ZoneLinks?
    }

    /// More names than any tz database has; beyond it, the cache is emptied.
    private static let capacity = 2_048
    /// The size limit of a zone's file; the largest has four kilobytes.
    private static let longestFile = 65_536
    /// The names of the machine's local settings, which are not places.
    private static let machineNames: Set<String> = ["localtime", "posixrules"]

    /// Uses the database in a folder.
    package init(folder: String) { self.folder = folder }

    /// Uses the machine's database: the folder in `TZDIR`, as for other programs, or `/usr/share/zoneinfo`.
    package convenience init(environment: [String: String]) {
        let named = environment["TZDIR"] ?? ""
        self.init(folder: named.isEmpty ? "/usr/share/zoneinfo" : named)
    }

    /// Whether the database exists.
    package var isThere: Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) && isFolder.boolValue
    }

    /// Returns the zone of a name; `nil` if the database has none, or only an unusable one.
    ///
    /// A former name that the database lists without a file is resolved to its present name, and the zone keeps the
    /// requested name. An example is `Asia/Calcutta` on Debian 13, which browsers still send.
    package subscript(name: TimeZoneName) -> Zone? {
        if let known = shelf.withLock({ $0.zones[name] }) { return known }
        let zone = read(name.text, as: name) ?? links().target(of: name.text).flatMap { read($0, as: name) }
        shelf.withLock { shelf in
            if shelf.zones.count >= Self.capacity { shelf.zones = [:] }
            shelf.zones[name] = .some(zone)
        }
        return zone
    }

    /// Returns the failure for a machine without a tz database.
    package func absence(attempted: String) -> CommandFailure {
        CommandFailure(
            .configuration,
            attempted: attempted,
            cameBack: "there is no tz database in \(folder)",
            whatToDo: "install tzdata, or point TZDIR at the folder that has it"
        )
    }

    private func read(_ path: String, as name: TimeZoneName) -> Zone? {
        guard let place = place(of: path), let bytes = Self.bytes(of: place, atMost: Self.longestFile) else {
            return nil
        }
        return try? Zone(name: name, tzif: bytes)
    }

    /// Returns the file of a name, with all links resolved; `nil` if it is outside the folder.
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

    /// Returns the contents of a file; `nil` if it does not exist or is longer than `limit`.
    private static func bytes(of path: String, atMost limit: Int) -> [UInt8]? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let content = try? handle.read(upToCount: limit + 1), content.count <= limit else { return nil }
        return [UInt8](content)
    }
}

/// Maps former zone names to their present ones, from the text form of the tz database (`tzdata.zi`).
struct ZoneLinks: Sendable {
    /// The size limit, ten times the size of the file.
    static let longestFile = 1 << 20

    private let targets: [String: String]

    /// Reads the lines `L TARGET NAME`; other lines contain no names.
    init(_ bytes: [UInt8]) {
        var targets: [String: String] = [:]
        for line in bytes.split(separator: UInt8(ascii: "\n")) where line.starts(with: "L ".utf8) {
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count == 3 else { continue }
            targets[String(decoding: words[2], as: UTF8.self)] = String(decoding: words[1], as: UTF8.self)
        }
        self.targets = targets
    }

    /// Returns the zone's present name; `nil` if `name` is not a former one.
    func target(of name: String) -> String? { targets[name].map { targets[$0] ?? $0 } }
}
