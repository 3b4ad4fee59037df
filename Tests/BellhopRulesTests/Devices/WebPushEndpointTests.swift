import BellhopRules
import Testing

@Suite("Endpoints of browsers")
struct WebPushEndpointTests {
    @Test(
        "host, port and origin are read",
        arguments: [
            ("https://fcm.googleapis.com/fcm/send/a:b", "fcm.googleapis.com", 443, "https://fcm.googleapis.com"),
            ("https://FCM.GoogleAPIs.com/", "fcm.googleapis.com", 443, "https://fcm.googleapis.com"),
            ("https://push.example:443/a", "push.example", 443, "https://push.example"),
            ("https://push.example:8443/a?b=c@d:e", "push.example", 8443, "https://push.example:8443"),
            ("https://localhost:1/", "localhost", 1, "https://localhost:1"),
            ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "https://xn--bcher-kva.example"),
        ] as [(String, String, UInt16, String)]
    )
    func good(_ text: String, _ host: String, _ port: UInt16, _ origin: String) throws {
        let endpoint = try #require(WebPushEndpoint(validating: text))
        #expect(endpoint.host == host && endpoint.port == port && endpoint.origin == origin)
    }

    @Test(
        "an endpoint that is ambiguous or has a numeric address is rejected",
        arguments: [
            "", "https://", "https:///a", "http://push.example/", "HTTPS://push.example/", "https:/push.example/",
            "https://push.example", "https://push.example?a", "https://push.example#/", "https://user@push.example/",
            "https://user:pass@push.example/", "https://push.example./", "https://.push.example/",
            "https://push..example/",
            "https://127.0.0.1/", "https://2130706433/", "https://0x7f.1/", "https://0x7f000001/", "https://[::1]/",
            "https://[::ffff:10.0.0.1]/", "https://push.example:/", "https://push.example:0/",
            "https://push.example:65536/", "https://push.example:8443:1/", "https://push.example:+1/",
            "https://push_.example/", "https://-push.example/", "https://push.example-/", "https://push.exam ple/",
            "https://push.example/ a", "https://push.example\\@evil.example/", "https://push.example/\\evil",
            "https://bücher.example/", "https://push.example/ü", "https://push.example/a#b",
            "https://push.example/\u{0}",
            "https://push%2eexample/", "https://push.example/" + String(repeating: "a", count: 2048),
            "https://" + String(repeating: "a", count: 64) + ".example/",
        ]
    )
    func bad(_ text: String) {
        #expect(WebPushEndpoint(validating: text) == nil)
    }
}
