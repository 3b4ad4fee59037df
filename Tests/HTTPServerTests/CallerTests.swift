import HTTPServer
import ServiceRuntime
import Testing

@Suite("The caller's address")
struct CallerTests {
    private func caller(_ peer: String, forwarded: String?, trusting ranges: [String]) throws -> PeerAddress? {
        var headers = HTTPHeaders()
        if let forwarded { headers.add("X-Forwarded-For", forwarded) }
        let request = HTTPRequest(
            method: "GET",
            target: try #require(RequestTarget("/")),
            headers: headers,
            peer: PeerAddress(try #require(InternetAddress(peer)))
        )
        return request.caller(behind: ranges.compactMap(AddressRange.init))
    }

    @Test(
        "an address from a trusted proxy counts, and entries before an untrusted address do not",
        arguments: [
            ("10.0.0.1", "203.0.113.9", "203.0.113.9"), ("10.0.0.1", nil, "10.0.0.1"),
            ("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
            ("10.0.0.1", "203.0.113.9, 10.0.0.2", "203.0.113.9"),
            ("198.51.100.1", "203.0.113.9", "198.51.100.1"), ("10.0.0.1", "rubbish", "10.0.0.1"),
        ] as [(String, String?, String)]
    )
    func forwarded(peer: String, header: String?, expected: String) throws {
        let found = try caller(peer, forwarded: header, trusting: ["10.0.0.0/8"])
        let address = try #require(InternetAddress(expected))
        #expect(found == PeerAddress(address))
    }

    @Test("X-Forwarded-For is ignored if no proxy is trusted")
    func untrusted() throws {
        let found = try caller("10.0.0.1", forwarded: "203.0.113.9", trusting: [])
        let address = try #require(InternetAddress("10.0.0.1"))
        #expect(found == PeerAddress(address))
    }
}
