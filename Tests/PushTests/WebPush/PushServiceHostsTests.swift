import BellhopRules
import Push
import Testing

@Suite("Hosts of push services")
struct PushServiceHostsTests {
    @Test(
        "the browsers' own services are known",
        arguments: [
            "https://fcm.googleapis.com/fcm/send/abc:APA91b", "https://fcm.googleapis.com/wp/abc",
            "https://updates.push.services.mozilla.com/wpush/v2/gAAAAA",
            "https://eu.push.services.mozilla.com/wpush/v1/a", "https://web.push.apple.com/QOabc",
            "https://wns2-par02p.notify.windows.com/w/?token=BQYAAA%2b%2f", "https://FCM.googleapis.com:443/a",
        ]
    )
    func known(_ text: String) throws {
        #expect(PushServiceHosts.known.allow(try #require(WebPushEndpoint(validating: text))))
    }

    @Test(
        "a host that only resembles a known one is rejected",
        arguments: [
            "https://fcm.googleapis.com.evil.example/a", "https://evilfcm.googleapis.com/a",
            "https://googleapis.com/a", "https://push.apple.com/a", "https://xpush.apple.com/a",
            "https://notify.windows.com/a", "https://evil.example/?https://fcm.googleapis.com/",
            "https://fcm.googleapis.com:8443/a", "https://localhost/a", "https://metadata.google.internal/a",
        ]
    )
    func strange(_ text: String) throws {
        #expect(!PushServiceHosts.known.allow(try #require(WebPushEndpoint(validating: text))))
    }

    @Test("a configured list accepts names and everything below a name, at one port")
    func own() throws {
        let hosts = try #require(PushServiceHosts(["push.example", "*.up.example"], port: 8443))
        let rows = [
            ("https://push.example:8443/a", true), ("https://push.example/a", false),
            ("https://a.push.example:8443/a", false), ("https://a.up.example:8443/", true),
            ("https://a.b.up.example:8443/", true), ("https://up.example:8443/", false),
        ]
        for (text, isAllowed) in rows {
            let endpoint = try #require(WebPushEndpoint(validating: text))
            #expect(hosts.allow(endpoint) == isAllowed, "\(text)")
        }
    }

    @Test(
        "an entry is a name in lower case, or one after an asterisk and a dot",
        arguments: [
            "", "*", "*.", "*example", "a.*.example", "Push.example", "127.0.0.1", "[::1]", "a:443", "a/b", "a.",
        ]
    )
    func badEntries(_ entry: String) {
        #expect(PushServiceHosts([entry]) == nil)
    }
}
