import BellhopRules
import Testing

@Suite("Feed messages")
struct FeedTests {
    private func update(_ type: FeedType, _ text: String) throws -> FeedUpdate {
        let source = InboundEnvelope.Source.eventsExchange(routingKey: "drop.\(type.rawValue)")
        guard case .feed(let update) = try SampleMessages.parse(SampleMessages.envelope(text, source: source)).get()
        else {
            throw NotAFeedMessage()
        }
        return update
    }

    private struct NotAFeedMessage: Error {}

    @Test("a recipient with all fields is read, and one with only a user")
    func recipients() throws {
        let full = try update(
            .recipientUpserted,
            """
            {"userId":"u1","locale":"nb_no","timezone":"Europe/Oslo","email":"u@example.com",
             "preferences":{"enabled":true},
             "pushEnabled":false,"emailEnabled":true,"sentAtIso":"2026-02-15T13:45:00Z"}
            """
        )
        guard case .recipientUpserted(let recipient) = full.change else { throw NotAFeedMessage() }
        #expect(full.sentAt?.description == "2026-02-15T13:45:00.000Z")
        #expect(recipient.user.text == "u1")
        #expect(recipient.locale.value?.text == "nb-NO")
        #expect(recipient.timezone.value?.text == "Europe/Oslo")
        #expect(recipient.email.value?.text == "u@example.com")
        #expect(recipient.preferences == .set(["enabled": true]))
        #expect(recipient.pushEnabled == .set(false))
        #expect(recipient.emailEnabled == .set(true))

        let bare = try update(.recipientUpserted, #"{"userId":"u1"}"#)
        guard case .recipientUpserted(let untouched) = bare.change else { throw NotAFeedMessage() }
        #expect(bare.sentAt == nil)
        #expect(untouched.locale == .unchanged)
        #expect(untouched.preferences == .unchanged)
        #expect(untouched.pushEnabled == .unchanged)
    }

    @Test("null clears a field, and absence leaves it unchanged")
    func clearing() throws {
        let text = #"{"userId":"u1","locale":null,"email":null,"preferences":null,"pushEnabled":null}"#
        guard case .recipientUpserted(let recipient) = try update(.recipientUpserted, text).change else {
            throw NotAFeedMessage()
        }
        #expect(recipient.locale == .cleared)
        #expect(recipient.email == .cleared)
        #expect(recipient.preferences == .cleared)
        #expect(recipient.pushEnabled == .cleared)
        #expect(recipient.timezone == .unchanged)
    }

    @Test("a device with its provider is read")
    func subscriptions() throws {
        let text = """
            {"userId":"u1","token":"\(WebPush.endpoint)","platform":"web","provider":"webpush",
             "subscription":\(WebPush.text()),"permission":"granted","environment":null}
            """
        guard case .subscriptionUpserted(let device) = try update(.subscriptionUpserted, text).change else {
            throw NotAFeedMessage()
        }
        #expect(device.token.text == WebPush.endpoint)
        #expect(device.platform == .web)
        #expect(device.provider == .webpush)
        #expect(device.subscription.value == WebPush.kept())
        #expect(device.permission == .set(.granted))
        #expect(device.environment == .cleared)
        let revoked = try update(.subscriptionRevoked, #"{"userId":"u1","token":"t"}"#).change
        let user = try #require(UserID(validating: "u1"))
        let token = try #require(DeviceToken(validating: "t"))
        #expect(revoked == .subscriptionRevoked(user: user, token: token))
    }

    @Test("only the necessary parts of a browser's subscription are kept, and nothing of a phone's")
    func keptSubscription() throws {
        let litter: JSONObject = ["litter": .string(String(repeating: "x", count: 200_000)), "vapidKeyID": "2026"]
        let fat = WebPush.subscription(beside: litter) { $0["more"] = .string(String(repeating: "y", count: 239)) }
        var lean = WebPush.kept()
        lean["vapidKeyID"] = "2026"
        let devices = [
            ("web", "webpush", WebPush.endpoint, FieldUpdate.set(lean)), ("android", "fcm", "t", .unchanged),
        ]
        for (platform, provider, token, expected) in devices {
            let text = """
                {"userId":"u1","token":"\(token)","platform":"\(platform)","provider":"\(provider)",
                 "subscription":\(WebPush.text(fat))}
                """
            guard case .subscriptionUpserted(let device) = try update(.subscriptionUpserted, text).change else {
                throw NotAFeedMessage()
            }
            #expect(device.subscription == expected)
        }
    }

    @Test("follows with and without a role are read")
    func follows() throws {
        let text = #"{"userId":"u1","topic":"safe:1:0xabc","role":"owner","muted":true}"#
        guard case .followAdded(let follow) = try update(.followAdded, text).change else { throw NotAFeedMessage() }
        #expect(follow.topic.text == "safe:1:0xabc")
        #expect(follow.role.value?.text == "owner")
        #expect(follow.muted == .set(true))
        guard case .followRemoved(let user, let topic, let token) = try update(.followRemoved, text).change else {
            throw NotAFeedMessage()
        }
        #expect(user.text == "u1")
        #expect(topic.text == "safe:1:0xabc")
        #expect(follow.token == nil && token == nil)
    }

    @Test("a follow, and its end, may apply to one device alone")
    func followOfDevice() throws {
        let text = #"{"userId":"u1","topic":"safe:1:0xabc","token":"t1"}"#
        guard case .followAdded(let follow) = try update(.followAdded, text).change,
            case .followRemoved(_, _, let ended) = try update(.followRemoved, text).change
        else { throw NotAFeedMessage() }
        #expect(follow.token?.text == "t1")
        #expect(ended?.text == "t1")
    }

    @Test("a reminder names one date in place of days")
    func reminderDate() throws {
        let text = #"{"userId":"u1","id":"r","localTime":"09:00","on":"2026-12-01","days":null,"title":"t","body":""}"#
        guard case .reminderSet(let reminder) = try update(.reminderSet, text).change else { throw NotAFeedMessage() }
        let date = try #require(LocalDate(validating: "2026-12-01"))
        #expect(reminder.days == .once(date))
    }

    @Test("a body that names its own message gives the reminder no type")
    func reminderType() throws {
        let words = #""userId":"u1","id":"r1","localTime":"09:05","title":"T","body":"","eventType":"reminder.set""#
        guard case .reminderSet(let reminder) = try update(.reminderSet, "{\(words)}").change else {
            throw NotAFeedMessage()
        }
        #expect(reminder.type == nil)
    }

    @Test("a reminder may name another event type if its message is named outside the body")
    func reminderOfAnotherType() throws {
        func parse(_ type: String, _ change: (inout InboundEnvelope) -> Void) throws -> Result<Submission, Rejection> {
            let fields = #""userId":"u1","id":"r1","localTime":"09:05","title":"T","body":"","eventType":"\#(type)""#
            var envelope = SampleMessages.envelope("{\"app\":\"drop\",\(fields)}")
            change(&envelope)
            return try SampleMessages.parse(envelope)
        }
        let routed = { (envelope: inout InboundEnvelope) in
            envelope.source = .eventsExchange(routingKey: "drop.reminder.set")
        }
        let named = { (envelope: inout InboundEnvelope) in envelope.type = "reminder.set" }
        let attributed = { (envelope: inout InboundEnvelope) in
            let attributes = ["specversion": "1.0", "id": "1", "source": "s", "type": "reminder.set"]
            envelope.headers = attributes.map { ("ce-\($0.key)", HeaderValue.string($0.value)) }
        }
        for change in [routed, named, attributed] {
            guard case .feed(let update) = try parse("system", change).get(), case .reminderSet(let set) = update.change
            else { throw NotAFeedMessage() }
            #expect(set.type?.text == "system")
            let unknown = try #require(try parse("nosuch", change).failure)
            #expect(unknown.reason == .unknownType && unknown.pointer.text == "/eventType")
            let mailed = try #require(try parse("security", change).failure)
            #expect(mailed.reason == .invalidField && mailed.pointer.text == "/eventType")
        }
        #expect(try parse("nosuch", routed).failure?.eventType?.text == "reminder.set")
    }

    @Test("a device needs no provider if its platform and the catalogue leave one choice")
    func providerOfPlatform() throws {
        func provider(_ app: String, _ platform: String, _ token: String) throws -> PushProvider? {
            let source = InboundEnvelope.Source.eventsExchange(routingKey: "\(app).subscription.upserted")
            let text = #"{"userId":"u1","token":"\#(token)","platform":"\#(platform)"}"#
            let parser = SubmissionParser(try Repository.catalogs())
            switch parser.parse(SampleMessages.envelope(text, source: source)) {
            case .success(.feed(let update)):
                guard case .subscriptionUpserted(let device) = update.change else { throw NotAFeedMessage() }
                return device.provider
            case .failure(let rejection):
                #expect(rejection.pointer.text == "/provider" && rejection.reason == .invalidField)
                return nil
            case .success: throw NotAFeedMessage()
            }
        }
        #expect(try provider("drop", "ios", "ExponentPushToken[a]") == .expo)
        #expect(try provider("drop", "android", "t") == .fcm)
        #expect(try provider("padel", "ios", "t") == .apns)
        #expect(try provider("venues", "ios", "t") == .fcm)
        // The catalogue names no provider, so an iPhone may be reached by two.
        #expect(try provider("daily", "ios", "t") == nil)
    }

    @Test("reminders apply to every day unless days are named, and their id is not the message's")
    func reminders() throws {
        let text = #"{"userId":"u1","id":"r1","localTime":"09:05","title":"Trening","body":""}"#
        var envelope = SampleMessages.envelope(text, source: .eventsExchange(routingKey: "drop.reminder.set"))
        envelope.messageID = "another"
        guard case .feed(let update) = try SampleMessages.parse(envelope).get(),
            case .reminderSet(let reminder) = update.change
        else { throw NotAFeedMessage() }
        #expect(reminder.id.text == "r1")
        #expect(reminder.localTime.description == "09:05")
        #expect(reminder.days.text == "mon,tue,wed,thu,fri,sat,sun")
        #expect(reminder.timezone == nil)
        let some =
            """
            {"userId":"u1","id":"r1","localTime":"09:05","title":"T","body":"B","days":["mon","sun","mon"],
             "timezone":"UTC"}
            """
        guard case .reminderSet(let partial) = try self.update(.reminderSet, some).change else {
            throw NotAFeedMessage()
        }
        #expect(partial.days == .weekly([.monday, .sunday]))
        #expect(partial.timezone?.text == "UTC")
        guard case .reminderRemoved(_, let id) = try self.update(.reminderRemoved, some).change else {
            throw NotAFeedMessage()
        }
        #expect(id.text == "r1")
    }

    @Test(
        "each fault points to its field",
        arguments: [
            (FeedType.recipientUpserted, "{}", "/userId"), (.recipientUpserted, #"{"userId":""}"#, "/userId"),
            (.recipientUpserted, #"{"userId":"u","locale":"x"}"#, "/locale"),
            (.recipientUpserted, #"{"userId":"u","timezone":"../x"}"#, "/timezone"),
            (.recipientUpserted, #"{"userId":"u","email":"nobody"}"#, "/email"),
            (.recipientUpserted, #"{"userId":"u","preferences":[]}"#, "/preferences"),
            (.recipientUpserted, #"{"userId":"u","pushEnabled":"yes"}"#, "/pushEnabled"),
            (.recipientUpserted, #"{"userId":"u","sentAtIso":"x"}"#, "/sentAtIso"),
            (.recipientDeleted, #"{"userId":null}"#, "/userId"),
            (.subscriptionUpserted, #"{"userId":"u","platform":"ios","provider":"apns"}"#, "/token"),
            (.subscriptionUpserted, #"{"userId":"u","token":"t","provider":"apns"}"#, "/platform"),
            (.subscriptionUpserted, #"{"userId":"u","token":"t","platform":"ios","provider":"post"}"#, "/provider"),
            (.subscriptionUpserted, #"{"userId":"u","token":"t","platform":"windows","provider":"apns"}"#, "/platform"),
            (
                .subscriptionUpserted,
                #"{"userId":"u","token":"t","platform":"ios","provider":"apns","permission":"maybe"}"#, "/permission"
            ),
            (.subscriptionRevoked, #"{"userId":"u"}"#, "/token"), (.followAdded, #"{"userId":"u"}"#, "/topic"),
            (.followAdded, #"{"userId":"u","topic":"t","role":"a b"}"#, "/role"),
            (.followRemoved, #"{"topic":"t"}"#, "/userId"),
            (.reminderSet, #"{"userId":"u","id":"r","title":"t","body":"b"}"#, "/localTime"),
            (.reminderSet, #"{"userId":"u","id":"r","localTime":"9:00","title":"t","body":"b"}"#, "/localTime"),
            (.reminderSet, #"{"userId":"u","id":"r","localTime":"09:00","body":"b"}"#, "/title"),
            (.reminderSet, #"{"userId":"u","id":"r","localTime":"09:00","title":"t"}"#, "/body"),
            (.reminderSet, #"{"userId":"u","id":"r","localTime":"09:00","title":"t","body":"b","days":[]}"#, "/days"),
            (.reminderSet, #"{"userId":"u","id":"r","localTime":"09:00","title":"t","body":"b","on":"1 May"}"#, "/on"),
            (
                .reminderSet,
                #"{"userId":"u","id":"r","localTime":"09:00","title":"t","body":"","on":"2026-12-01","days":["mon"]}"#,
                "/on"
            ),
            (
                .reminderSet,
                #"{"userId":"u","id":"r","localTime":"09:00","title":"t","body":"b","days":["mon","Tue"]}"#, "/days/1"
            ),
            (.reminderRemoved, #"{"userId":"u"}"#, "/id"),
        ]
    )
    func faults(type: FeedType, text: String, pointer: String) throws {
        let source = InboundEnvelope.Source.eventsExchange(routingKey: "drop.\(type.rawValue)")
        let rejection = try SampleMessages.rejection(SampleMessages.envelope(text, source: source))
        #expect(rejection.reason == .invalidField)
        #expect(rejection.pointer.text == pointer)
        #expect(rejection.eventType?.text == type.rawValue)
    }

    @Test("feed messages of an app without a catalogue are rejected")
    func unknownApp() throws {
        let source = InboundEnvelope.Source.eventsExchange(routingKey: "nobody.recipient.deleted")
        let rejection = try SampleMessages.rejection(SampleMessages.envelope(#"{"userId":"u1"}"#, source: source))
        #expect(rejection.reason == .unknownApp)
        #expect(rejection.app?.text == "nobody")
    }

    @Test("a cancellation names its event in the body")
    func cancellations() throws {
        let source = InboundEnvelope.Source.eventsExchange(routingKey: "drop.event.cancelled")
        var envelope = SampleMessages.envelope(#"{"id":"evt_1"}"#, source: source)
        envelope.messageID = "its own"
        guard case .cancellation(_, let id) = try SampleMessages.parse(envelope).get() else { throw NotAFeedMessage() }
        #expect(id.text == "evt_1")
        envelope.body = Array("{}".utf8)
        #expect(try SampleMessages.rejection(envelope).reason == .missingID)
        envelope.body = Array(#"{"id":5}"#.utf8)
        #expect(try SampleMessages.rejection(envelope).reason == .invalidField)
    }
}
