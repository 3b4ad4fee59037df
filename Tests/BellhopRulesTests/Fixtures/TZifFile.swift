/// Bytes of a TZif file with the content that a test needs.
struct TZifFile {
    var version: Character = "2"
    /// Seconds since 1970, and the type that begins then.
    var transitions: [(seconds: Int64, type: UInt8)] = []
    /// Seconds ahead of UTC.
    var types: [Int32] = [0]
    var leaps: UInt32 = 0
    var footer = "UTC0"

    var bytes: [UInt8] {
        guard version != "1" else { return block(width: 4) }
        return block(width: 4) + block(width: 8) + Array("\n\(footer)\n".utf8)
    }

    private func block(width: Int) -> [UInt8] {
        var bytes = Array("TZif".utf8)
        bytes.append(version == "1" ? 0 : version.asciiValue ?? 0)
        bytes += Array(repeating: 0, count: 15)
        for count in [0, 0, leaps, UInt32(transitions.count), UInt32(types.count), 4] { bytes += Self.bigEndian(count) }
        for transition in transitions {
            bytes +=
                width == 8
                ? Self.bigEndian(transition.seconds) : Self.bigEndian(Int32(truncatingIfNeeded: transition.seconds))
        }
        bytes += transitions.map(\.type)
        for offset in types { bytes += Self.bigEndian(offset) + [0, 0] }
        bytes += Array("LMT\0".utf8)
        for _ in 0..<leaps { bytes += Array(repeating: 0, count: width + 4) }
        return bytes
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
