import BellhopRules
import Foundation
import Testing

/// Zones of this machine's tz database.
enum Zones {
    static let folder = ProcessInfo.processInfo.environment["TZDIR"] ?? "/usr/share/zoneinfo"

    static func named(_ text: String) throws -> Zone {
        try Zone(name: name(text), tzif: bytes(text))
    }

    static func name(_ text: String) throws -> TimeZoneName {
        try #require(TimeZoneName(validating: text))
    }

    static func bytes(_ text: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder).appendingPathComponent(text)))
    }

    /// Returns every zone under one of its names: names whose files have the same bytes are the same zone.
    static func distinct() throws -> [(name: String, bytes: [UInt8])] {
        var seen: Set<[UInt8]> = []
        let all = try all().sorted { $0.key < $1.key }
        return all.filter { seen.insert($0.value).inserted }.map { ($0.key, $0.value) }
    }

    /// Returns every zone by its name, without zones that count leap seconds and names of the machine's own zone.
    static func all() throws -> [String: [UInt8]] {
        let root = URL(fileURLWithPath: folder)
        var found: [String: [UInt8]] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder)
        where !path.hasPrefix("right/") && !path.hasPrefix("posix/") && path != "localtime" {
            guard let data = try? Data(contentsOf: root.appendingPathComponent(path)), data.starts(with: "TZif".utf8)
            else { continue }
            found[path] = [UInt8](data)
        }
        return found
    }
}

/// Returns an instant in the form that tests write.
func at(_ text: String, _ place: SourceLocation = #_sourceLocation) throws -> Timestamp {
    try #require(Timestamp(validating: text), "\(text) is no instant", sourceLocation: place)
}
