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
    func target(of name: String) -> String? {
        targets[name].map { targets[$0] ?? $0 }
    }
}
