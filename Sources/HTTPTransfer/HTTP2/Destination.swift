import Glibc

/// The destination of an `https` URL: the host and port of a connection.
package struct Destination: Hashable, Sendable {
    /// A name in lower case, or an address without brackets.
    package let host: String
    package let port: UInt16
    /// The form used in requests: without the port if it is the default.
    package let authority: String

    /// The form used in texts.
    var endpoint: String { "\(host):\(port)" }
}

/// A parsed URL.
package struct TargetURL {
    package let destination: Destination
    /// The path with its query; at least `/`.
    package let path: String

    /// Returns `nil` unless the text is an `https` URL of visible ASCII with a plain host and port.
    package init?(_ url: String) {
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

    /// Parses the URL of `request`; throws `invalidRequest` if it is not such a URL.
    init(of request: TransferRequest) throws(TransferError) {
        guard let target = TargetURL(request.url) else {
            throw TransferError.refusal(of: request, "the URL must be an https URL in visible ASCII")
        }
        self = target
    }

    private static func destination(_ authority: ArraySlice<UInt8>) -> Destination? {
        var host = authority
        var port: UInt16 = 443
        let hostEnd = authority.first == UInt8(ascii: "[") ? authority.lastIndex(of: UInt8(ascii: "]")) : nil
        if let colon = authority.lastIndex(of: UInt8(ascii: ":")), hostEnd.map({ $0 < colon }) ?? true {
            let digits = authority[(colon + 1)...]
            guard digits.allSatisfy(ASCII.isDigit), let number = UInt16(String(decoding: digits, as: UTF8.self)),
                number > 0
            else { return nil }
            port = number
            host = authority[..<colon]
        }
        let isAddress = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]")
        if isAddress { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, isAddress || host.allSatisfy(isOfName) else { return nil }
        let name = String(decoding: host.map(ASCII.lowercased), as: UTF8.self)
        guard !isAddress || isAddressV6(name) else { return nil }
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

    private static func isAddressV6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }
}
