/// The maximum numbers of open connections of a server: in total, and from one address.
package struct ConnectionLimits: Hashable, Sendable {
    package let total: Int
    /// The limit for one address; `nil` for none.
    package let address: Int?

    package static let usual = ConnectionLimits(total: 16_384, address: 512)

    package init(total: Int, address: Int?) {
        self.total = total
        self.address = address
    }

    /// Reads `total=16384,address=512`, each at most once and in any order.
    ///
    /// `address` may be `off`, and an omitted number keeps its default.
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

    /// The limits in their configuration form.
    package var text: String { "total=\(total),address=\(address.map(String.init) ?? "off")" }
}
