/// Where an `https` URL leads: the host and port of a connection.
struct Destination: Hashable, Sendable {
    /// A name in small letters, or an address without brackets.
    let host: String
    let port: UInt16
    /// As requests name it: without the port where it is the usual one.
    let authority: String

    /// For texts.
    var endpoint: String { "\(host):\(port)" }
}

/// A URL taken apart.
struct TargetURL {
    let destination: Destination
    /// With its query; at least `/`.
    let path: String

    /// Nil for whatever is no `https` URL of visible ASCII with a plain host and port.
    init?(_ url: String) {
        let bytes = Array(url.utf8)
        let scheme = Array("https://".utf8)
        guard bytes.count > scheme.count, bytes.allSatisfy(ASCII.isVisible),
            zip(bytes, scheme).allSatisfy({ ASCII.lowercased($0) == $1 })
        else { return nil }
        let rest = bytes[scheme.count...]
        let end = rest.firstIndex { Self.endsAuthority($0) } ?? rest.endIndex
        guard let destination = Self.destination(rest[..<end]) else { return nil }
        self.destination = destination
        let path = rest[end...].prefix { $0 != UInt8(ascii: "#") }
        let text = String(decoding: path, as: UTF8.self)
        self.path = text.hasPrefix("/") ? text : "/" + text
    }

    private static func destination(_ authority: ArraySlice<UInt8>) -> Destination? {
        var host = authority
        var port: UInt16 = 443
        let hostEnd = authority.first == UInt8(ascii: "[") ? authority.lastIndex(of: UInt8(ascii: "]")) : nil
        if let colon = authority.lastIndex(of: UInt8(ascii: ":")), hostEnd.map({ $0 < colon }) ?? true {
            let digits = authority[(colon + 1)...]
            guard digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
                let number = UInt16(String(decoding: digits, as: UTF8.self)), number > 0
            else { return nil }
            port = number
            host = authority[..<colon]
        }
        let isAddress = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]")
        if isAddress { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, host.allSatisfy({ isAddress ? isOfAddress($0) : isOfName($0) }) else { return nil }
        let name = String(decoding: host.map(ASCII.lowercased), as: UTF8.self)
        let written = isAddress ? "[\(name)]" : name
        return Destination(host: name, port: port, authority: port == 443 ? written : "\(written):\(port)")
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch ASCII.lowercased(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func isOfAddress(_ byte: UInt8) -> Bool {
        switch ASCII.lowercased(byte) {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }
}
