import HTTPTransfer
import Testing

@Suite("Request URLs")
struct TargetURLTests {
    @Test(
        "an https URL is divided into host, port, authority and path",
        arguments: [
            ("https://example.com", "example.com", 443, "example.com", "/"),
            ("https://example.com/", "example.com", 443, "example.com", "/"),
            ("HTTPS://EXAMPLE.com/A", "example.com", 443, "example.com", "/A"),
            ("https://example.com:443/a", "example.com", 443, "example.com", "/a"),
            ("https://example.com:8443/a?b=c&d", "example.com", 8443, "example.com:8443", "/a?b=c&d"),
            ("https://example.com?b", "example.com", 443, "example.com", "/?b"),
            ("https://example.com#top", "example.com", 443, "example.com", "/"),
            ("https://example.com/a#top?x", "example.com", 443, "example.com", "/a"),
            ("https://example.com?a/b#c", "example.com", 443, "example.com", "/?a/b"),
            ("https://a_b.example-1.com./", "a_b.example-1.com.", 443, "a_b.example-1.com.", "/"),
            ("https://127.0.0.1:1/", "127.0.0.1", 1, "127.0.0.1:1", "/"),
            ("https://[::1]/", "::1", 443, "[::1]", "/"),
            ("https://[2001:DB8::1]:65535/x", "2001:db8::1", 65535, "[2001:db8::1]:65535", "/x"),
            ("https://[::ffff:1.2.3.4]/", "::ffff:1.2.3.4", 443, "[::ffff:1.2.3.4]", "/"),
            ("https://a/%41:@[]{}|\\^`<>\"", "a", 443, "a", "/%41:@[]{}|\\^`<>\""),
        ] as [(String, String, UInt16, String, String)]
    )
    func good(url: String, host: String, port: UInt16, authority: String, path: String) throws {
        let target = try #require(TargetURL(url))
        #expect(target.destination.host == host)
        #expect(target.destination.port == port)
        #expect(target.destination.authority == authority)
        #expect(target.path == path)
    }

    @Test(
        "any other URL is rejected",
        arguments: [
            "", "https", "https:", "https:/", "https://", "https:///a", "https://?", "https://#", "http://example.com/",
            "ftp://example.com/", "//example.com/", "example.com", " https://example.com/", "https://example.com/ ",
            "https://user@example.com/", "https://user:secret@example.com/", "https://@example.com/",
            "https://example.com:/", "https://example.com:0/", "https://example.com:65536/",
            "https://example.com:99999999999999999999/", "https://example.com:+443/", "https://example.com:-1/",
            "https://example.com:4 43/", "https://example.com:443:443/", "https://:443/", "https://a:b/",
            "https://[::1", "https://::1]/", "https://::1/", "https://[]/", "https://[]:443/", "https://[::1]x/",
            "https://[::1]:/", "https://x[::1]/", "https://[[::1]]/", "https://[127.0.0.1]/", "https://[example.com]/",
            "https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[:::1]/", "https://[12345::]/",
            "https://exa mple.com/", "https://exa\tmple.com/", "https://exa\nmple.com/", "https://example.com/\r\nx",
            "https://example.com/\u{0}", "https://example.com\u{0}/", "https://example.com/\u{7f}",
            "https://exämple.com/", "https://example.com/ä", "https://example.com\\@other.com/", "https://a%62c.com/",
            "https://example.com*/", "https://(example.com)/", "https://example.com;x/", "https://a,b/", "https://a!b/",
        ]
    )
    func bad(url: String) {
        #expect(TargetURL(url)?.path == nil)
    }
}
