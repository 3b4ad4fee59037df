import BellhopRules
import Testing

@Suite("docs/event.schema.json")
struct EventSchemaTests {
    private func schema() throws -> JSONValue {
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 1 << 20, depth: 32))
        return try parser.parse(try Repository.bytes("docs/event.schema.json")).get()
    }

    /// Returns whether the code accepts a body as a message of its type.
    private func codeAccepts(_ body: JSONObject, type: String) throws -> Bool {
        var envelope = SampleMessages.envelope(body)
        envelope.source = .eventsExchange(routingKey: "drop.\(type)")
        return try SampleMessages.parse(envelope).failure == nil
    }

    static let goodValues: [(String, JSONValue)] = [
        ("title", .string(String(repeating: "å", count: 512))), ("body", ""),
        ("body", .string(String(repeating: "😀", count: 8192))),
        ("data", [:]), ("data", ["a": [1, ["b": .null]]]), ("route", "/"),
        ("route", .null), ("route", ["web": "/a", "mobile": .null]), ("route", ["scheme": "drop://a", "else": 1]),
        ("targetId", .string(String(repeating: "é", count: 255))),
        ("metadata", ["k": ""]), ("venueId", "42"), ("noEmail", true), ("noEmail", .null), ("imageUrl", "http://a"),
        ("imageUrl", "https://a.b/c?d=é#f"),
        ("sentAtIso", "2026-02-15T13:45:00.123456789+23:59"), ("deliverAt", "1970-01-01t00:00:00z"),
        ("expiresAt", "9999-12-31T23:59:59Z"), ("collapseKey", "c c"), ("unknown", ["x": 1]), ("title", .null),
        ("data", .null),
        ("metadata", .null), ("imageUrl", .null), ("to", ["users": ["a", "a"]]), ("to", ["topic": "t", "user": .null]),
        ("to", ["everyone": true, "else": 1]), ("id", .string(String(repeating: "x", count: 255))),
    ]

    @Test("the schema accepts everything that the code accepts", arguments: goodValues.indices)
    func good(index: Int) throws {
        let (key, value) = Self.goodValues[index]
        let body = SampleMessages.changed([key: value])
        #expect(try codeAccepts(body, type: "security"), "\(key)")
        #expect(try SchemaEvaluator(root: try schema()).accepts(.object(body)), "\(key)")
    }

    @Test("the schema rejects everything that the code rejects for its form", arguments: RejectionTests.invalid.indices)
    func bad(index: Int) throws {
        let (changes, _, pointer) = RejectionTests.invalid[index]
        // The code alone checks the existence of app and type, a type's audience, ids from properties, dates that the
        // calendar does not have, and U+0000 in data and in unknown fields.
        let beyondSchema = [
            "/app": ["missing", "other"], "/eventType": ["missing", "none"], "/id": ["missing"], "/to": ["missing"],
            "/deliverAt": [],
            "/data/a/0": [], "/ignored": [],
        ]
        let body = SampleMessages.changed(changes)
        let key = changes[0].key
        let given = body[key].map { $0 == .null ? "missing" : $0.string ?? "" } ?? "missing"
        if let exempt = beyondSchema[pointer], exempt.isEmpty || exempt.contains(given) { return }
        if pointer == "/data", body["data"]?.object != nil { return }
        #expect(try !codeAccepts(body, type: "security"), "\(changes)")
        #expect(try !SchemaEvaluator(root: try schema()).accepts(.object(body)), "\(changes)")
    }

    static let feedDocuments: [(type: String, body: JSONObject, isValid: Bool)] = [
        ("recipient.upserted", ["userId": "u"], true), ("recipient.upserted", [:], false),
        ("recipient.upserted", ["userId": "u", "locale": "nb_NO", "timezone": "Etc/GMT+5", "email": "a@b.no"], true),
        (
            "recipient.upserted",
            ["userId": "u", "locale": .null, "timezone": .null, "email": .null, "preferences": .null], true
        ),
        ("recipient.upserted", ["userId": "u", "pushEnabled": .null, "emailEnabled": true, "preferences": [:]], true),
        ("recipient.upserted", ["userId": "u", "locale": "n"], false),
        ("recipient.upserted", ["userId": "u", "timezone": ""], false),
        ("recipient.upserted", ["userId": "u", "email": "a b@c"], false),
        ("recipient.upserted", ["userId": "u", "email": "a@b@c"], false),
        ("recipient.upserted", ["userId": "u", "email": "a@localhost"], false),
        ("recipient.upserted", ["userId": "u", "email": "a@127.0.0.1"], false),
        ("recipient.upserted", ["userId": "u", "email": "-a@b.no"], false),
        ("recipient.upserted", ["userId": "u", "email": "a%c@b.no"], false),
        ("recipient.upserted", ["userId": "u", "email": "a@b-.no"], false),
        ("recipient.upserted", ["userId": "u", "pushEnabled": 1], false),
        ("recipient.upserted", ["userId": "u", "preferences": "x"], false),
        ("recipient.upserted", ["userId": "u", "sentAtIso": "x"], false), ("recipient.deleted", ["userId": "u"], true),
        ("recipient.deleted", ["userId": ""], false),
        ("subscription.upserted", ["userId": "u", "token": "t", "platform": "ios", "provider": "apns"], true),
        (
            "subscription.upserted",
            [
                "userId": "u", "token": .string(WebPush.endpoint), "platform": "web", "provider": "webpush",
                "environment": .null, "subscription": .object(WebPush.subscription()),
            ], true
        ),
        (
            "subscription.upserted",
            ["userId": "u", "token": .string(WebPush.endpoint), "platform": "web", "provider": "webpush"], false
        ),
        (
            "subscription.upserted",
            [
                "userId": "u", "token": "t", "platform": "web", "provider": "webpush",
                "subscription": .object(WebPush.subscription()),
            ], false
        ),
        (
            "subscription.upserted",
            [
                "userId": "u", "token": .string(WebPush.endpoint), "platform": "web", "provider": "webpush",
                "subscription": .object(WebPush.subscription { $0["auth"] = "short" }),
            ], false
        ),
        (
            "reminder.set",
            ["userId": "u", "id": "r", "localTime": "09:00", "title": "t", "body": "", "on": "2026-12-01"], true
        ),
        ("reminder.set", ["userId": "u", "id": "r", "localTime": "09:00", "title": "t", "body": "", "on": "1"], false),
        ("subscription.upserted", ["userId": "u", "token": "t", "platform": "web", "provider": "fcm"], true),
        ("subscription.upserted", ["userId": "u", "token": "t", "platform": "android", "provider": "apns"], false),
        ("subscription.upserted", ["userId": "u", "token": "t", "platform": "ios", "provider": "expo"], false),
        (
            "subscription.upserted",
            ["userId": "u", "token": "ExponentPushToken[a]", "platform": "android", "provider": "expo"], true
        ),
        (
            "subscription.upserted",
            ["userId": "u", "token": "ExpoPushToken[a]", "platform": "web", "provider": "expo"], false
        ),
        (
            "subscription.upserted",
            ["userId": "u", "token": "ExpoPushToken[a]", "platform": "ios", "provider": "apns"], false
        ),
        (
            "subscription.upserted",
            ["userId": "u", "token": "https://a.example/x", "platform": "android", "provider": "fcm"], false
        ),
        (
            "subscription.upserted",
            [
                "userId": "u", "token": .string(WebPush.endpoint), "platform": "ios", "provider": "webpush",
                "subscription": .object(WebPush.subscription()),
            ], false
        ),
        ("subscription.upserted", ["userId": "u", "token": "t", "platform": "ios"], true),
        ("subscription.upserted", ["userId": "u", "token": "ExponentPushToken[a]", "platform": "ios"], true),
        ("subscription.upserted", ["userId": "u", "token": "ExponentPushToken[a]", "platform": "web"], false),
        ("subscription.upserted", ["userId": "u", "token": "https://a.example/x", "platform": "android"], false),
        ("subscription.upserted", ["userId": "u", "token": .string(WebPush.endpoint), "platform": "web"], false),
        (
            "subscription.upserted",
            [
                "userId": "u", "token": .string(WebPush.endpoint), "platform": "web",
                "subscription": .object(WebPush.subscription()),
            ], true
        ),
        ("subscription.upserted", ["userId": "u", "token": "t", "platform": "ios", "provider": "post"], false),
        (
            "subscription.upserted",
            ["userId": "u", "token": "t", "platform": "ios", "provider": "fcm", "permission": "no"], false
        ),
        (
            "subscription.upserted",
            ["userId": "u", "token": "t", "platform": "ios", "provider": "fcm", "subscription": 1], false
        ),
        ("subscription.revoked", ["userId": "u", "token": "t"], true), ("subscription.revoked", ["userId": "u"], false),
        ("subscription.revoked", ["userId": "u", "token": .string(String(repeating: "x", count: 4097))], false),
        ("follow.added", ["userId": "u", "topic": "t", "role": .null, "muted": false], true),
        ("follow.added", ["userId": "u", "topic": "t", "role": ""], false),
        ("follow.added", ["userId": "u", "topic": "t", "muted": "x"], false),
        ("follow.added", ["userId": "u", "topic": "t", "token": "d"], true),
        ("follow.added", ["userId": "u", "topic": "t", "token": ""], false),
        ("follow.removed", ["userId": "u", "topic": "t", "token": .null], true),
        ("follow.removed", ["userId": "u", "topic": "t", "token": 1], false),
        ("follow.removed", ["userId": "u", "topic": "t"], true), ("follow.removed", ["topic": "t"], false),
        ("reminder.set", ["userId": "u", "id": "r", "localTime": "23:59", "title": "t", "body": ""], true),
        (
            "reminder.set",
            ["userId": "u", "id": "r", "localTime": "00:00", "title": "t", "body": "", "days": ["mon", "mon"]], true
        ),
        (
            "reminder.set",
            [
                "userId": "u", "id": "r", "localTime": "00:00", "title": "t", "body": "", "days": .null,
                "timezone": .null,
            ], true
        ),
        ("reminder.set", ["userId": "u", "id": "r", "localTime": "24:00", "title": "t", "body": ""], false),
        ("reminder.set", ["userId": "u", "id": "r", "localTime": "00:00", "title": "", "body": ""], false),
        ("reminder.set", ["userId": "u", "id": "r", "localTime": "00:00", "title": "t"], false),
        (
            "reminder.set", ["userId": "u", "id": "r", "localTime": "00:00", "title": "t", "body": "", "days": []],
            false
        ),
        (
            "reminder.set",
            ["userId": "u", "id": "r", "localTime": "00:00", "title": "t", "body": "", "days": ["day"]], false
        ),
        ("reminder.removed", ["userId": "u", "id": "r"], true), ("reminder.removed", ["userId": "u"], false),
        ("notification.read", ["userId": "u", "ids": ["noti_00000000000000ab"]], true),
        ("notification.read", ["userId": "u", "all": true, "until": "2026-02-15T13:45:00Z"], true),
        ("notification.read", ["userId": "u", "ids": []], false), ("notification.read", ["userId": "u"], false),
        ("notification.read", ["userId": "u", "ids": ["x"]], false),
        ("notification.read", ["userId": "u", "ids": ["noti_00000000000000ab"], "all": true], false),
        ("event.cancelled", ["id": "evt_1"], true), ("event.cancelled", [:], false),
        ("event.cancelled", ["id": ""], false),
    ]

    @Test("code and schema agree on feed messages", arguments: feedDocuments.indices)
    func feed(index: Int) throws {
        let (type, body, isValid) = Self.feedDocuments[index]
        let evaluator = SchemaEvaluator(root: try schema())
        #expect(try codeAccepts(body, type: type) == isValid, "\(type) \(body)")
        #expect(
            try evaluator.accepts(.object(body), schema: try evaluator.resolve("#/$defs/\(type)")) == isValid,
            "\(type) \(body)"
        )
    }

    @Test("code and schema agree on CloudEvents in structured mode", arguments: CloudEventsTests.faults.indices)
    func cloudEvents(index: Int) throws {
        let evaluator = SchemaEvaluator(root: try schema())
        let definition = try evaluator.resolve("#/$defs/cloudEvent")
        var object: JSONObject = [
            "specversion": "1.0", "id": "7", "source": "s", "type": "security", "data": ["to": ["user": "u"]],
        ]
        #expect(try evaluator.accepts(.object(object), schema: definition))
        let (changes, _, pointer) = CloudEventsTests.faults[index]
        // The code alone checks the content of the data, contradictions to the attributes, and the content of base64.
        guard !pointer.hasPrefix("/data/"), changes.allSatisfy({ $0.key != "data_base64" || $0.value?.string == "%%%" })
        else { return }
        for (key, value) in changes { object[key] = value }
        #expect(try !evaluator.accepts(.object(object), schema: definition), "\(changes)")
    }

    @Test("every field, feed type, reason and value of the code is in the schema, and no other")
    func enumerations() throws {
        let schema = try schema()
        func words(_ pointer: String) throws -> [String] {
            let list = try #require(JSONPointer(pointer)?.value(in: schema)?.array)
            return list.compactMap(\.string)
        }
        let properties = try #require(schema["properties"]?.object)
        #expect(Set(properties.members.map(\.key)) == Set(EventField.allCases.map(\.rawValue)))
        let definitions = try #require(schema["$defs"]?.object)
        let messages = Set(definitions.members.map(\.key).filter { $0.contains(".") })
        #expect(messages == Set(FeedType.allCases.map(\.rawValue) + [SubmissionParser.cancellationType]))
        #expect(try words("/$defs/rejection/properties/reason/enum") == RejectionReason.allCases.map(\.rawValue))
        let device = "/$defs/subscription.upserted/properties"
        #expect(try words("\(device)/platform/enum") == DevicePlatform.allCases.map(\.rawValue))
        #expect(try words("\(device)/provider/enum") == PushProvider.allCases.map(\.rawValue))
        #expect(try words("\(device)/permission/enum") == PushPermission.allCases.map(\.rawValue))
        #expect(try words("\(device)/environment/enum") == PushEnvironment.allCases.map(\.rawValue))
        #expect(try words("/$defs/reminder.set/properties/days/items/enum") == Weekday.allCases.map(\.rawValue))
    }

    @Test("the limits of the schema are those of the code")
    func limits() throws {
        let schema = try schema()
        let table = [
            ("/$defs/audience/oneOf/1/properties/users/maxItems", FieldLimits.users),
            ("/$defs/optionalTitle/maxLength", FieldLimits.title), ("/$defs/optionalBody/maxLength", FieldLimits.body),
            ("/$defs/reminder.set/properties/title/maxLength", FieldLimits.title),
            ("/$defs/reminder.set/properties/body/maxLength", FieldLimits.body),
            ("/properties/route/oneOf/0/maxLength", FieldLimits.route),
            ("/properties/route/oneOf/1/properties/web/maxLength", FieldLimits.route),
            ("/properties/route/oneOf/1/properties/mobile/maxLength", FieldLimits.route),
            ("/properties/route/oneOf/1/properties/scheme/maxLength", FieldLimits.route),
            ("/properties/imageUrl/maxLength", FieldLimits.imageURL),
            ("/properties/targetId/maxLength", FieldLimits.reference),
            ("/properties/venueId/maxLength", FieldLimits.reference),
            ("/properties/collapseKey/maxLength", FieldLimits.reference),
            ("/properties/metadata/maxProperties", FieldLimits.metadataEntries),
            ("/properties/metadata/propertyNames/maxLength", FieldLimits.metadataKey),
            ("/properties/metadata/additionalProperties/maxLength", FieldLimits.metadataValue),
        ]
        for (pointer, limit) in table {
            #expect(JSONPointer(pointer)?.value(in: schema)?.number?.int64 == Int64(limit), "\(pointer)")
        }
    }

    @Test("all references lead somewhere, and all keywords are supported")
    func references() throws {
        let evaluator = SchemaEvaluator(root: try schema())
        func visit(_ value: JSONValue) throws {
            if let reference = value["$ref"]?.string { _ = try evaluator.resolve(reference) }
            for member in value.object?.members ?? [] { try visit(member.value) }
            for element in value.array ?? [] { try visit(element) }
        }
        try visit(evaluator.root)
        #expect(throws: SchemaEvaluator.UnknownKeyword.self) {
            try evaluator.accepts("x", schema: ["anyOf": []])
        }
    }
}
