/// How many connections a server has open at most: in all, and from one address.
package struct ConnectionLimits: Hashable, Sendable {
    package let total: Int
    /// Nil for as many as there are.
    package let address: Int?

    package static let usual = ConnectionLimits(total: 16_384, address: 512)

    package init(total: Int, address: Int?) {
        self.total = total
        self.address = address
    }

    /// Reads `total=16384,address=512`, each once and in any order; `address` may be `off`, and what is left out keeps its
    /// usual number.
    package init?(_ text: String) {
        var (total, address) = (Self.usual.total, Self.usual.address)
        var names: Set<Substring> = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            guard pair.count == 2, names.insert(pair[0]).inserted else { return nil }
            let number = Int(pair[1]).flatMap { (1...100_000).contains($0) ? $0 : nil }
            switch (pair[0], number) {
            case ("total", let number?): total = number
            case ("address", let number?): address = number
            case ("address", nil) where pair[1] == "off": address = nil
            default: return nil
            }
        }
        self.init(total: total, address: address)
    }

    /// As it is written.
    package var text: String { "total=\(total),address=\(address.map(String.init) ?? "off")" }
}
