/// A server's listening address: a host's name or address, and a port.
///
/// Port 0 selects any free port.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:9464`, `localhost:0` or `[::1]:80`; `nil` for any other text.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard digits.allSatisfy({ ("0"..."9").contains($0) }), let port = UInt16(digits) else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        let isHost = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"/@[]?#".utf8.contains($0) }
        guard !host.isEmpty, isHost else { return nil }
        self.init(host: String(host), port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Returns the address `offset` ports above this one.
    ///
    /// Port 0 stays 0; the result is `nil` beyond the last port.
    package func shifted(by offset: Int) -> ListenAddress? {
        guard port != 0 else { return self }
        let (sum, overflow) = Int(port).addingReportingOverflow(offset)
        guard !overflow, sum > 0, let shifted = UInt16(exactly: sum) else { return nil }
        return ListenAddress(host: host, port: shifted)
    }
}
