/// The rate limits of the inbox API in calls per second: for one user, and for one address with any users.
package struct CallRates: Hashable, Sendable {
    /// The calls per second of one user; `nil` for no limit.
    package let user: Int?
    /// The calls per second from one address; `nil` for no limit, such as behind a proxy that all clients share.
    package let address: Int?

    package static let usual = CallRates(user: 20, address: 200)

    package init(user: Int?, address: Int?) {
        self.user = user
        self.address = address
    }

    /// Reads `user=20/s,address=200/s`, each at most once and in any order.
    ///
    /// `off` may replace a rate, and an omitted rate keeps its default. `off` alone switches both limits off.
    package init?(_ text: String) {
        guard text != "off" else {
            self.init(user: nil, address: nil)
            return
        }
        var rates: [String: Int?] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            guard pair.count == 2, let rate = Self.rate(pair[1]) else { return nil }
            let name = String(pair[0])
            guard ["user", "address"].contains(name), rates.updateValue(rate, forKey: name) == nil else { return nil }
        }
        self.init(user: rates["user"] ?? Self.usual.user, address: rates["address"] ?? Self.usual.address)
    }

    /// The limits in their configuration form.
    package var text: String { "user=\(Self.text(user)),address=\(Self.text(address))" }

    private static func rate(_ text: Substring) -> Int?? {
        if text == "off" { return .some(nil) }
        guard text.hasSuffix("/s"), let rate = Int(text.dropLast(2)), (1...100_000).contains(rate) else { return nil }
        return .some(rate)
    }

    private static func text(_ rate: Int?) -> String { rate.map { "\($0)/s" } ?? "off" }
}
