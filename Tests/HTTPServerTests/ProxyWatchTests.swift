import HTTPServer
import ServiceRuntime
import TestSupport
import Testing

@Suite("Proxies that are missing in the settings")
struct ProxyWatchTests {
    private func request(from peer: String, forwarded: String?) throws -> HTTPRequest {
        var headers = HTTPHeaders()
        if let forwarded { headers.add("X-Forwarded-For", forwarded) }
        return HTTPRequest(
            method: "GET",
            target: try #require(RequestTarget("/")),
            headers: headers,
            peer: PeerAddress(try #require(InternetAddress(peer)))
        )
    }

    @Test("the first X-Forwarded-For from an unlisted address is reported once, with the address and the setting")
    func once() throws {
        let log = CapturedLog()
        let watch = ProxyWatch(
            [try #require(AddressRange("10.0.0.0/8"))],
            setting: "BELLHOP_API_PROXIES",
            logger: Logger(label: "test", sink: log)
        )
        watch.look(at: try request(from: "10.0.0.1", forwarded: "203.0.113.9"))
        watch.look(at: try request(from: "192.0.2.1", forwarded: nil))
        #expect(log.records.isEmpty)
        for _ in 0..<3 { watch.look(at: try request(from: "192.0.2.1", forwarded: "203.0.113.9")) }
        #expect(log.records.count == 1)
        #expect(log.records.first?.fields["address"] == .text("192.0.2.1"))
        #expect(log.records.first?.fields["setting"] == .text("BELLHOP_API_PROXIES"))
    }
}
