extension Zone {
    /// Reads a file of the tz database (TZif, RFC 9636), of version 1 to 4.
    ///
    /// The table may include or omit the years that the footer's rule covers.
    ///
    /// The bytes may come from anywhere: invalid bytes cause a fault and never a trap.
    public init(name: TimeZoneName, tzif: [UInt8]) throws(ZoneFault) {
        do {
            self = try TZifReader(bytes: tzif).zone(name)
        } catch {
            throw ZoneFault(name: name, code: error.code)
        }
    }
}

/// Reads the numbers of a TZif file, all of them big-endian.
private struct TZifReader {
    struct Stop: Error {
        let code: ZoneFault.Code
    }

    /// The number of entries in each part of a block, and the width of a time in it.
    struct Block {
        let start: Int
        let width: Int
        let isUTCs: Int
        let isStandards: Int
        let leaps: Int
        let times: Int
        let types: Int
        let characters: Int

        var typesStart: Int { start + times * (width + 1) }
        /// The end of the block.
        ///
        /// Each type has six bytes, and each leap second has a time and four bytes.
        var end: Int { typesStart + types * 6 + characters + leaps * (width + 4) + isStandards + isUTCs }
    }

    static let headerSize = 44
    let bytes: [UInt8]

    func zone(_ name: TimeZoneName) throws(Stop) -> Zone {
        let first = try block(header: 0, width: 4)
        guard bytes[4] >= UInt8(ascii: "2") else { return try zone(name, by: first, footer: nil) }
        let second = try block(header: first.end, width: 8)
        return try zone(name, by: second, footer: try footer(from: second.end))
    }

    private func block(header: Int, width: Int) throws(Stop) -> Block {
        guard bytes.count - header >= Self.headerSize else { throw Stop(code: header == 0 ? .notTZif : .truncated) }
        guard bytes[header..<header + 4].elementsEqual("TZif".utf8) else { throw Stop(code: .notTZif) }
        let counts = (0..<6).map { Int(number(at: header + 20 + $0 * 4, width: 4) & 0xFFFF_FFFF) }
        let block = Block(
            start: header + Self.headerSize,
            width: width,
            isUTCs: counts[0],
            isStandards: counts[1],
            leaps: counts[2],
            times: counts[3],
            types: counts[4],
            characters: counts[5]
        )
        guard block.end <= bytes.count else { throw Stop(code: .truncated) }
        return block
    }

    /// Reads the text between two line breaks after the last block; `nil` if it is empty.
    private func footer(from start: Int) throws(Stop) -> ZoneFooter? {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "\n") else { throw Stop(code: .truncated) }
        let text = bytes[(start + 1)...]
        guard let end = text.firstIndex(of: UInt8(ascii: "\n")) else { throw Stop(code: .truncated) }
        guard end > start + 1 else { return nil }
        guard let footer = ZoneFooter(text[..<end]) else { throw Stop(code: .footer) }
        return footer
    }

    private func zone(_ name: TimeZoneName, by block: Block, footer: ZoneFooter?) throws(Stop) -> Zone {
        guard block.leaps == 0 else { throw Stop(code: .leapSeconds) }
        guard (1...256).contains(block.types) else { throw Stop(code: .typeCount) }
        let types = try offsets(of: block)
        let changes = try changes(of: block, types: types)
        let known = changes.filter { Self.asked.contains($0.seconds) }
        let first = changes.last { $0.seconds < Self.asked.lowerBound }?.offset ?? types[0]
        guard let footer else { return Zone(name: name, first: first, changes: known) }
        return Self.zone(name, first: first, changes: known, tableEnd: changes.last?.seconds ?? .min, footer: footer)
    }

    /// The range of possible queries.
    ///
    /// A `Timestamp` is never outside, and arithmetic inside never overflows.
    private static let asked: ClosedRange<Int64> = 1...253_402_300_799

    /// Returns a zone whose footer applies from the end of the table on.
    ///
    /// At the end itself, the footer takes precedence, so that the two never differ where they meet.
    private static func zone(
        _ name: TimeZoneName,
        first: Int,
        changes: [ZoneChange],
        tableEnd: Int64,
        footer: ZoneFooter
    ) -> Zone {
        guard tableEnd <= asked.upperBound else { return Zone(name: name, first: first, changes: changes) }
        let isForever = tableEnd < asked.lowerBound
        switch footer {
        case .constant(let offset) where isForever: return Zone(name: name, first: offset, changes: [])
        case .constant(let offset):
            let end = ZoneChange(seconds: tableEnd, offset: offset)
            return Zone(name: name, first: first, changes: changes.dropLast() + [end])
        case .yearly(let rule) where isForever: return Zone(name: name, first: first, changes: [], rule: rule)
        case .yearly(let rule):
            let end = ZoneChange(seconds: tableEnd, offset: rule.offset(at: Int(tableEnd)))
            return Zone(
                name: name,
                first: first,
                changes: changes.dropLast() + [end],
                rule: rule,
                ruleBeginning: tableEnd
            )
        }
    }

    private func offsets(of block: Block) throws(Stop) -> [Int] {
        var offsets: [Int] = []
        for type in 0..<block.types {
            let offset = Int(number(at: block.typesStart + type * 6, width: 4))
            guard abs(offset) <= Zone.furthestOffset else { throw Stop(code: .offset) }
            offsets.append(offset)
        }
        return offsets
    }

    private func changes(of block: Block, types: [Int]) throws(Stop) -> [ZoneChange] {
        var changes: [ZoneChange] = []
        changes.reserveCapacity(block.times)
        let indices = block.start + block.times * block.width
        for position in 0..<block.times {
            let seconds = number(at: block.start + position * block.width, width: block.width)
            if let last = changes.last, last.seconds >= seconds { throw Stop(code: .order) }
            let type = Int(bytes[indices + position])
            guard type < types.count else { throw Stop(code: .typeIndex) }
            changes.append(ZoneChange(seconds: seconds, offset: types[type]))
        }
        return changes
    }

    private func number(at place: Int, width: Int) -> Int64 {
        let value = bytes[place..<place + width].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return width == 8 ? Int64(bitPattern: value) : Int64(Int32(truncatingIfNeeded: value))
    }
}

/// The reason why bytes are not the rules of a zone.
public struct ZoneFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault; the raw value is the sentence shown to the operator.
    public enum Code: String, CaseIterable, Sendable {
        /// The first bytes are not `TZif`.
        case notTZif = "the bytes are not a TZif file"
        /// The bytes end inside a block that the header announces.
        case truncated = "the file ends early"
        /// There is no local time type, or more than 256.
        case typeCount = "the number of local time types is impossible"
        /// A transition leads to a local time type that does not exist.
        case typeIndex = "a transition names a local time type that is not there"
        /// Transitions are not in ascending order.
        case order = "the transitions are not in order"
        /// An offset is further from UTC than that of any clock on Earth.
        case offset = "an offset lies beyond 26 hours"
        /// The times count leap seconds, as in the files below `right/`; no other clock in Bellhop does.
        case leapSeconds = "the file counts leap seconds"
        /// The rule for all later years cannot be read.
        case footer = "the rule in the footer cannot be read"
    }

    /// The requested zone.
    public let name: TimeZoneName
    /// The kind of fault.
    public let code: Code

    /// The zone and its fault in one line.
    public var description: String {
        "reading the zone \(name): \(code.rawValue); reinstall tzdata, or hand over the bytes of a TZif file"
    }
}
