import AMQP
import BellhopRules
import Store
import Testing

@testable import Pipeline

/// Tests the internal messages against the bytes that the first release writes.
///
/// A later release still reads all of them, and changes its own form only with regard to the releases that read it.
@Suite("Forms of internal messages")
struct MessageVersionTests {
    @Test("a written message equals the text of the first form", arguments: Form.all)
    func written(_ form: Form) {
        #expect(String(decoding: form.written, as: UTF8.self) == form.text)
    }

    @Test("a message is read as it was written, with any unknown members", arguments: Form.all)
    func read(_ form: Form) {
        #expect(form.isRead(form.text))
        let later = #"{"hue":{"deep":[1,null]},"# + form.text.dropFirst()
        #expect(form.isRead(later))
        #expect(form.isRead(#"{"version":1,"# + form.text.dropFirst()))
    }

    @Test("a newer form is not read as an older one, and the error names the newest readable form", arguments: Form.all)
    func newer(_ form: Form) {
        for version in ["2", "1e9", #""two""#, "1.5"] {
            let body = Array((#"{"version":\#(version),"# + form.text.dropFirst()).utf8)
            let receipt = Self.failure(ReceiptMessage.read(body))
            let why = form.isReceipt ? receipt : Self.failure(InternalMessage.read(body))
            guard case .newer = why else {
                Issue.record("\(version) was read")
                continue
            }
            let cause = why?.cause(at: .resume, called: "resume")
            let words = "this release reads up to \(MessageVersion.newest)"
            let error = cause?.error ?? ""
            #expect(cause?.reason == "newer-message")
            #expect(error.hasSuffix(words))
        }
    }

    @Test("no kind of message is omitted")
    func all() {
        #expect(Form.all.count == 5)
    }

    @Test("an erasure finds the users of a dead-lettered internal message", arguments: Form.all)
    func users(_ form: Form) throws {
        guard form.text.contains(#""u1""#) else { return }
        let message = try #require(try JSONParser().parse(Array(form.text.utf8)).get().object)
        let isFound = DeadLetterAudience.workLists.contains { message[$0] != nil }
        #expect(isFound)
    }

    @Test(
        "a body that no Bellhop program wrote is foreign and not a newer form",
        arguments: ["", "[]", "{}", #"{"version":1}"#, #"{"badges":7}"#]
    )
    func foreign(_ body: String) {
        #expect(InternalMessage.read(Array(body.utf8)) == .failure(.foreign))
        #expect(ReceiptMessage.read(Array(body.utf8)) == .failure(.foreign))
    }

    @Test("the marks of a replay are read as the first release wrote them, with and without optional ones")
    func marks() {
        let first: FieldTable = [
            "x-bellhop-replay-of": "noti_1-sub_1-1", "x-bellhop-replay-count": 2, "x-bellhop-replay-by": "ada",
            "x-bellhop-replay-exchange": "bellhop.events", "x-bellhop-replay-routing-key": "drop.security",
        ]
        let replayed = ReplayHeaders(marks: first)
        #expect(replayed?.mark == DeadLetterItem.ReplayMark(item: "noti_1-sub_1-1", replay: nil, round: 2))
        #expect(replayed?.exchange == "bellhop.events")
        #expect(replayed?.routingKey == "drop.security")
        #expect(replayed?.arrivedAt == nil)
        var later = first
        later.entries.append(.init("x-bellhop-replay-hue", .string("blue")))
        #expect(ReplayHeaders(marks: later) == replayed)
    }

    private static func failure<Message>(_ result: Result<Message, UnreadMessage>) -> UnreadMessage? {
        if case .failure(let why) = result { why } else { nil }
    }
}

extension MessageVersionTests {
    /// One kind of message: the program's output, and the text of the first release.
    struct Form: Sendable, CustomTestStringConvertible {
        let name: String
        let written: [UInt8]
        let text: String
        var isReceipt = false
        let isRead: @Sendable (String) -> Bool

        var testDescription: String { name }

        static let all: [Form] = key.map { [resume($0), replacement($0), badges($0), page, receipts($0)] } ?? []

        private static var key: NotificationKey? {
            guard let app = AppID(validating: "drop"), let user = UserID(validating: "u1") else { return nil }
            let recipient = UserKey(app: app, user: user)
            return NotificationKey(recipient: recipient, notification: NotificationID(bits: 7))
        }

        private static func work(_ name: String, _ message: InternalMessage, _ body: [UInt8], _ text: String) -> Form {
            Form(name: name, written: body, text: text) { InternalMessage.read(Array($0.utf8)) == .success(message) }
        }

        private static func resume(_ key: NotificationKey) -> Form {
            let message = ResumeMessage(keys: [key])
            let text = #"{"notifications":[["drop","u1","noti_0000000000000007"]]}"#
            return work("resume", .resume(message), message.body, text)
        }

        private static func replacement(_ key: NotificationKey) -> Form {
            let message = ResumeMessage(keys: [key], replacesEarlier: true)
            let text = #"{"heir":true,"notifications":[["drop","u1","noti_0000000000000007"]]}"#
            return work("replacement", .resume(message), message.body, text)
        }

        private static func badges(_ key: NotificationKey) -> Form {
            let message = BadgeMessage(recipients: [key.recipient])
            return work("badges", .badges(message), message.body, #"{"badges":[["drop","u1"]]}"#)
        }

        private static var page: Form {
            let page = FanoutPage(fanout: 3, page: 0, priority: .low)
            return work("page", .page(page), PageMessage.body(page), #"{"fanout":3,"page":0,"priority":"low"}"#)
        }

        private static func receipts(_ key: NotificationKey) -> Form {
            let message = ReceiptMessage(keys: [DeliveryKey(notification: key, channel: .push, target: "sub_1")])
            let text = #"{"deliveries":[["drop","u1","noti_0000000000000007","push","sub_1"]]}"#
            return Form(name: "receipts", written: message.body, text: text, isReceipt: true) {
                ReceiptMessage.read(Array($0.utf8)) == .success(message)
            }
        }
    }
}
