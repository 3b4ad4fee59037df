import BellhopRules
import Push
import TestSupport
import Testing

@Suite("FCM's limit of 4096 bytes")
struct FCMLimitTests {
    private func read(_ message: PushMessage) throws -> ReadBody {
        try ReadBody(try #require(FCMRequest.body(of: message, now: SamplePushes.now)))
    }

    @Test("a long body is cut to the last byte before anything else is shortened")
    func longBody() throws {
        var message = try SamplePushes.full(.android)
        message.body = String(repeating: "a", count: 8000)
        let body = try read(message)
        #expect(body.byteCount == 4096)
        #expect(body["/notification/body"]?.string?.hasSuffix("a…") == true)
        #expect(body["/notification/title"]?.string == message.title)
        #expect(body.data["amount"] == "2 000 kr")
        #expect(body["/notification/image"] != nil)
    }

    @Test("a message that fits exactly is unchanged, and one byte more shortens it")
    func exactFit() throws {
        var message = try SamplePushes.plain()
        let spare = 4096 - (try read(message)).byteCount
        message.body += String(repeating: "b", count: spare)
        #expect(try read(message).byteCount == 4096)
        #expect(try read(message)["/notification/body"]?.string == message.body)
        message.body += "b"
        #expect(try read(message).byteCount == 4096)
        #expect(try read(message)["/notification/body"]?.string?.hasSuffix("…") == true)
    }

    @Test("the title is shortened only when the body has its minimum length")
    func longTitle() throws {
        var message = try SamplePushes.plain()
        message.title = String(repeating: "t", count: 4000)
        message.body = String(repeating: "b", count: 4000)
        let body = try read(message)
        #expect(body["/notification/body"]?.string == String(repeating: "b", count: 157) + "…")
        #expect(body["/notification/title"]?.string?.hasSuffix("t…") == true)
        #expect(body.byteCount == 4096)
    }

    @Test("data is omitted as a whole, with a mark for the client, if even short texts do not fit with it")
    func bigData() throws {
        var message = try SamplePushes.full(.android)
        message.data["blob"] = .string(String(repeating: "x", count: 4000))
        message.body = String(repeating: "b", count: 500)
        let body = try read(message)
        #expect(body.data["dataOmitted"] == "true")
        #expect(body.data["blob"] == nil)
        #expect(body.data["amount"] == nil)
        #expect(body.data["metadata"] == nil)
        #expect(body.data["targetId"] == "tx_rem_1")
        #expect(body.data["route"] == "/transactions/tx_rem_1")
        #expect(body["/notification/body"]?.string == message.body)
    }

    @Test("a message with ten thousand members of data is sent")
    func manyMembers() throws {
        var message = try SamplePushes.plain()
        let members = (0..<10_000).map { "\"key\($0)\":\"v\"" }.joined(separator: ",")
        message.data = try #require(try JSONParser().parse(Array("{\(members)}".utf8)).get().object)
        #expect(try read(message).data["dataOmitted"] == "true")
    }

    @Test("the image is omitted last")
    func bigImage() throws {
        var message = try SamplePushes.plain()
        message.imageURL = "https://cdn.example/" + String(repeating: "i", count: 2020)
        message.link = .init(
            web: "/" + String(repeating: "w", count: 1000),
            mobile: "/" + String(repeating: "m", count: 1000)
        )
        message.data = ["a": "b"]
        let body = try read(message)
        #expect(body["/notification/image"] == nil)
        #expect(body["/notification/title"]?.string == message.title)
        #expect(body.data["link"] == message.link?.web)
    }

    @Test("a message whose links alone are too long is not built")
    func tooLarge() throws {
        var message = try SamplePushes.plain()
        message.link = .init(web: String(repeating: "w", count: 2048), mobile: String(repeating: "m", count: 2048))
        #expect(FCMRequest.body(of: message, now: SamplePushes.now) == nil)
    }

    @Test(
        "a cut is between visible characters",
        arguments: [
            "👩‍👩‍👧‍👦", "🇳🇴", "e\u{301}", "👍🏽", "क्षि", "\"", "\\", "\u{1}", "\n", "å", "\u{1112}\u{1161}\u{11AB}",
            "각\u{11A8}", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "\u{2067}א\u{2069}",
        ]
    )
    func graphemes(_ character: String) throws {
        for lead in 0..<8 {
            var message = try SamplePushes.plain()
            message.body = String(repeating: "a", count: lead) + String(repeating: character, count: 4000)
            let body = try read(message)
            let sent = try #require(body["/notification/body"]?.string)
            #expect(sent.hasSuffix("…"))
            #expect(message.body.hasPrefix(String(sent.dropLast())))
            let one = Array(JSONWriter.canonicalBytes(of: .string(character))).count - 2
            #expect(body.byteCount <= 4096)
            // White space before the ellipsis is removed, however many bytes that leaves free.
            guard character != "\n" else { continue }
            #expect(body.byteCount > 4096 - one)
        }
    }

    @Test("a single character longer than the limit leaves only the ellipsis")
    func endlessCharacter() throws {
        var message = try SamplePushes.plain()
        message.body = "e" + String(repeating: "\u{301}", count: 4000)
        #expect(try read(message)["/notification/body"]?.string == "…")
    }

    @Test(
        "endless marks, flags and joiners are cut without further effects",
        arguments: ["\u{301}", "\u{200D}", "🇳", "👩\u{200D}", "\u{1161}", "\u{2067}", "\u{FE0F}", " "]
    )
    func endlessSequences(piece: String) throws {
        for lead in ["", "a", "🇳🇴"] {
            var message = try SamplePushes.plain()
            message.body = lead + String(repeating: piece, count: 8192)
            let sent = try #require(try read(message)["/notification/body"]?.string)
            #expect(sent.hasSuffix("…"))
            #expect(message.body.unicodeScalars.starts(with: sent.unicodeScalars.dropLast()))
        }
    }

    @Test("the body of any message is valid JSON within the limit, or the message is rejected")
    func randomMessages() throws {
        var generator = SeededChance.announced("FCM bodies")
        var refused = 0
        let rounds = SeededChance.rounds(400)
        for round in 0..<rounds {
            let message = try RandomMessage.make(using: &generator)
            guard let bytes = FCMRequest.body(of: message, now: SamplePushes.now) else {
                refused += 1
                continue
            }
            #expect(bytes.count <= 4096, "round \(round)")
            let body = try ReadBody(bytes)
            #expect(body["/token"]?.string == message.device.token.text, "round \(round)")
            #expect(body["/notification/title"]?.string?.isEmpty == false, "round \(round)")
            #expect(body.data["notificationId"] == message.notification.text, "round \(round)")
            #expect(body["/data"]?.object?.members.allSatisfy { $0.value.string != nil } == true, "round \(round)")
        }
        #expect(refused < rounds / 2)
    }
}
