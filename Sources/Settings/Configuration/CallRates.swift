/// The rate limits of the inbox API in calls per second: for one user, for one address with any users, and for one
/// publisher.
package struct CallRates: Hashable, Sendable {
    /// The calls per second of one user; `nil` for no limit.
    package let user: Int?
    /// The calls per second from one address; `nil` for no limit, such as behind a proxy that all clients share.
    package let address: Int?

    /// The calls per second of one publisher; `nil` for no limit.
    ///
    /// Without it, the number of unconfirmed events limits publishers.
    package let publisher: Int?

    package static let usual = CallRates(user: 20, address: 200)

    package init(user: Int?, address: Int?, publisher: Int? = nil) {
        self.user = user
        self.address = address
        self.publisher = publisher
    }

    /// Reads `user=20/s,address=200/s,publisher=off`, each at most once and in any order.
    ///
    /// `off` may replace a rate, and an omitted rate keeps its default. `off` alone switches all limits off.
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
            guard ["user", "address", "publisher"].contains(name), rates.updateValue(rate, forKey: name) == nil else {
                return nil
            }
        }
        self.init(
            user: rates["user"] ?? Self.usual.user,
            address: rates["address"] ?? Self.usual.address,
            publisher: rates["publisher"] ?? Self.usual.publisher
        )
    }

    /// The limits in their configuration form.
    package var text: String {
        "user=\(Self.text(user)),address=\(Self.text(address)),publisher=\(Self.text(publisher))"
    }

    private static func rate(_ text: Substring) -> Int?? {
        if text == "off" { return .some(nil) }
        guard text.hasSuffix("/s"), let rate = Int(text.dropLast(2)), (1...100_000).contains(rate) else { return nil }
        return .some(rate)
    }

    private static func text(_ rate: Int?) -> String { rate.map { "\($0)/s" } ?? "off" }
}
