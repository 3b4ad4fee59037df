import BellhopRules
import Testing

@Suite("Identifiers")
struct IdentifierTests {
    @Test(
        "an app is a short lower-case word",
        arguments: ["a", "drop", "my-app_2", "a" + String(repeating: "b", count: 31)]
    )
    func apps(text: String) {
        #expect(AppID(validating: text)?.text == text)
    }

    @Test(
        "any other text is rejected as an app",
        arguments: ["", "Drop", "2drop", "-a", "a.b", "a b", "å", "a\0", "a" + String(repeating: "b", count: 32)]
    )
    func notApps(text: String) {
        #expect(AppID(validating: text) == nil)
    }

    @Test(
        "a type consists of letters, digits, _, . and -",
        arguments: ["a", "INCOMING_ETHER", "a.b-c", String(repeating: "x", count: 64)]
    )
    func types(text: String) {
        #expect(EventType(validating: text)?.text == text)
    }

    @Test(
        "any other text is rejected as a type",
        arguments: ["", "a b", "a#", "a*", "a/b", "é", "a\n", String(repeating: "x", count: 65)]
    )
    func notTypes(text: String) {
        #expect(EventType(validating: text) == nil)
    }

    @Test("a control character is found at any place, and no other byte is taken for one")
    func controlCharacters() {
        for place in 0..<20 {
            for scalar in (0x00...0x80).compactMap(Unicode.Scalar.init) + ["å", "\u{9F}", "😀"] {
                var text = String(repeating: "x", count: place).unicodeScalars
                text.append(scalar)
                text.append(contentsOf: String(repeating: "!", count: 19 - place).unicodeScalars)
                let isControl = scalar.value < 0x20 || scalar.value == 0x7F
                let isRefused = UserID(validating: String(text)) == nil
                #expect(isRefused == isControl, "U+\(String(scalar.value, radix: 16)) at \(place)")
            }
        }
    }

    @Test("plain identifiers accept everything but control characters, up to 255 bytes")
    func plain() {
        for text in ["u", "user@example.com", "Bjørn Å", "😀", String(repeating: "x", count: 255)] {
            #expect(UserID(validating: text)?.text == text)
            #expect(EventID(validating: text)?.text == text)
            #expect(Topic(validating: text)?.text == text)
            #expect(ReminderID(validating: text)?.text == text)
        }
        let tooLong = String(repeating: "x", count: 256)
        for text in ["", "a\0b", "a\nb", "\u{7F}", tooLong, String(repeating: "é", count: 128)] {
            #expect(UserID(validating: text) == nil)
            #expect(EventID(validating: text) == nil)
            #expect(Topic(validating: text) == nil)
            #expect(ReminderID(validating: text) == nil)
        }
        #expect(DeviceToken(validating: String(repeating: "x", count: 4096)) != nil)
        #expect(DeviceToken(validating: String(repeating: "x", count: 4097)) == nil)
    }

    @Test("two spellings of one letter are two users, as in the database")
    func bytes() throws {
        let one = try #require(UserID(validating: "\u{E5}"))
        let other = try #require(UserID(validating: "a\u{30A}"))
        #expect(one != other)
        #expect(Set([one, other, one]).count == 2)
        #expect(other < one)
    }

    @Test("addresses are checked by their form")
    func addresses() {
        for text in ["a@b.no", "first.last+tag@example.com", "ø@ål.no", "a@1-2.x--y.a1"] {
            #expect(EmailAddress(validating: text) != nil, "\(text)")
        }
        let longLocal = String(repeating: "x", count: 65) + "@b.no"
        for text in [
            "", "a", "@b", "a@", "a@b@c", "a b@c", "a@b\r\nBcc: x@y", "<a@b>", "a@b,c@d", "\"a\"@b", longLocal,
            "a@localhost",
            "a@127.0.0.1", "a%c.example@b.example", "a!b@b.example", "a@b..example", "a@-b.example", "a@b-.example",
            "-oQ/tmp@b.example", "a@b.example.", "a@.example", "a@b.42", "a@b_c.example", "a@[127.0.0.1]",
        ] {
            #expect(EmailAddress(validating: text) == nil, "\(text)")
        }
    }

    @Test("languages get their usual spelling")
    func languages() {
        #expect(LanguageTag(validating: "SV_se")?.text == "sv-SE")
        #expect(LanguageTag(validating: "nb")?.text == "nb")
        #expect(LanguageTag(validating: "zh-hant-tw")?.text == "zh-hant-TW")
        for text in [
            "", "n", "toolonglanguage", "nb-", "nb--NO", "n1", "nb NO", "nb-" + String(repeating: "abcd-", count: 8),
        ] {
            #expect(LanguageTag(validating: text) == nil, "\(text)")
        }
    }

    @Test("zones are checked by their form")
    func zones() {
        for text in ["UTC", "Europe/Oslo", "America/Argentina/Buenos_Aires", "Etc/GMT+5"] {
            #expect(TimeZoneName(validating: text) != nil, "\(text)")
        }
        for text in ["", "/etc/passwd", "../x", "Europe Oslo", "Å/B", String(repeating: "x", count: 65)] {
            #expect(TimeZoneName(validating: text) == nil, "\(text)")
        }
    }

    @Test("a notification's id consists of the digest's first eight bytes")
    func notificationIDs() throws {
        let id = try #require(NotificationID(digest: [0x00, 0x01, 0xAB, 0xCD, 0, 0, 0, 0x0F, 0x99]))
        #expect(id.text == "noti_0001abcd0000000f")
        #expect(NotificationID(validating: id.text) == id)
        #expect(NotificationID(digest: [1, 2, 3, 4, 5, 6, 7]) == nil)
        #expect(NotificationID(bits: .max).text == "noti_ffffffffffffffff")
        for text in [
            "", "noti_", "noti_0001ABCD0000000F", "note_0001abcd0000000f", "noti_0001abcd0000000",
            "noti_0001abcd0000000g",
        ] {
            #expect(NotificationID(validating: text) == nil, "\(text)")
        }
    }

    @Test("the hashed bytes separate app, event and user with NUL, which none of them can contain")
    func hashInput() throws {
        let app = try #require(AppID(validating: "drop"))
        let event = try #require(EventID(validating: "é"))
        let user = try #require(UserID(validating: "u1"))
        let bytes = NotificationID.hashInput(app: app, event: event, user: user)
        #expect(bytes == Array("drop\0é\0u1".utf8))
    }

    @Test("only a well-formed trace is accepted")
    func traces() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        #expect(TraceParent(validating: good)?.text == good)
        let zeroTrace = "00-00000000000000000000000000000000-b7ad6b7169203331-01"
        let zeroSpan = "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"
        for text in [
            "", good.uppercased(), "ff" + good.dropFirst(2), zeroTrace, zeroSpan, good + "-x", String(good.dropLast()),
        ] {
            #expect(TraceParent(validating: text) == nil, "\(text)")
        }
    }
}
