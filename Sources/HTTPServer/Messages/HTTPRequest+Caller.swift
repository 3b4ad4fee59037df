package import ServiceRuntime

extension HTTPRequest {
    /// Whether the request comes directly from one of these addresses.
    package func isFrom(_ proxies: [AddressRange]) -> Bool {
        guard let peer else { return false }
        return proxies.contains { $0.contains(peer.address) }
    }

    /// Returns the caller's address behind the trusted proxies; `nil` if it cannot be determined.
    ///
    /// Each proxy appends the address of its client to the right of `X-Forwarded-For`. Entries to the left of the first
    /// untrusted address may have been written by any client.
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
