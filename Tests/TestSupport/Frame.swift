/// One HTTP/2 frame (RFC 9113 §4.1).
package struct Frame: Sendable, Equatable {
    package enum Kind: UInt8, Sendable, CaseIterable {
        case data, headers, priority, reset, settings, pushPromise, ping, goAway, windowUpdate, continuation
    }

    /// The identifiers of SETTINGS.
    package enum Setting: UInt8, Sendable {
        case concurrentStreams = 3
        case initialWindow = 4
    }

    package static let acknowledgement: UInt8 = 1
    package static let endsStream: UInt8 = 1
    package static let endsHeaders: UInt8 = 4
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    /// The kind of the frame; `nil` for an unknown kind.
    package var kind: Kind?
    package var flags: UInt8 = 0
    package var stream: UInt32 = 0
    package var payload: [UInt8] = []

    package var acknowledges: Bool { flags & Self.acknowledgement != 0 }
    package var endsStream: Bool { flags & Self.endsStream != 0 }

    package init(kind: Kind?, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    package var encoded: [UInt8] {
        var bytes = Array(Self.bytes(of: UInt32(payload.count)).dropFirst())
        bytes += [kind?.rawValue ?? 0xf0, flags]
        bytes += Self.bytes(of: stream)
        return bytes + payload
    }

    package static func settings(_ values: [Setting: UInt32] = [:]) -> Frame {
        var payload: [UInt8] = []
        for (setting, value) in values { payload += [0, setting.rawValue] + bytes(of: value) }
        return Frame(kind: .settings, payload: payload)
    }

    package static func goAway(lastStream: UInt32, code: UInt32 = 0) -> Frame {
        Frame(kind: .goAway, payload: bytes(of: lastStream) + bytes(of: code))
    }

    package static func reset(_ stream: UInt32, code: UInt32) -> Frame {
        Frame(kind: .reset, stream: stream, payload: bytes(of: code))
    }

    package static func windowUpdate(_ stream: UInt32, by bytes: UInt32) -> Frame {
        Frame(kind: .windowUpdate, stream: stream, payload: Self.bytes(of: bytes))
    }

    /// Returns a whole header block, with each field as a literal without indexing (RFC 7541 §6.2.2).
    package static func headers(_ stream: UInt32, _ fields: [(String, String)], endsStream: Bool = false) -> Frame {
        var payload: [UInt8] = []
        for (name, value) in fields { payload += [0] + text(name) + text(value) }
        return Frame(
            kind: .headers,
            flags: endsHeaders | (endsStream ? Self.endsStream : 0),
            stream: stream,
            payload: payload
        )
    }

    package static func data(_ stream: UInt32, _ text: String, endsStream: Bool = false) -> Frame {
        Frame(kind: .data, flags: endsStream ? Self.endsStream : 0, stream: stream, payload: Array(text.utf8))
    }

    package static func bytes(of number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    /// Returns the bytes after their length, which takes seven bits, or more if these do not suffice (RFC 7541 §5.1).
    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var length: [UInt8] = [127]
        var rest = bytes.count - 127
        while rest >= 128 {
            length.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return length + [UInt8(rest)] + bytes
    }
}
