package import ServiceRuntime

extension HTTPRequest {
    /// Whether it comes directly from one of these.
    package func isFrom(_ proxies: [AddressRange]) -> Bool {
        guard let peer else { return false }
        return proxies.contains { $0.contains(peer.address) }
    }

    /// Whom the call comes from, past the proxies that are trusted; nil where that cannot be told.
    ///
    /// Each proxy adds to the right of `X-Forwarded-For` whom it got the call from. What stands to the left of the first one
    /// that is not trusted anybody may have written.
    package func caller(behind proxies: [AddressRange]) -> PeerAddress? {
        guard var caller = peer, !proxies.isEmpty else { return peer }
        let hops = (headers["X-Forwarded-For"] ?? "").split(separator: ",").suffix(32)
        for hop in hops.reversed() {
            guard proxies.contains(where: { $0.contains(caller.address) }), let address = InternetAddress(hop) else {
                return caller
            }
            caller = PeerAddress(address)
        }
        return caller
    }
}
