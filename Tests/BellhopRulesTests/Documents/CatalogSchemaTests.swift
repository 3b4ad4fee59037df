import Testing

@testable import BellhopRules

@Suite("docs/catalog.schema.json")
struct CatalogSchemaTests {
    private func schema() throws -> JSONValue {
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 1 << 20, depth: 32))
        return try parser.parse(try Repository.bytes("docs/catalog.schema.json")).get()
    }

    func accepts(_ file: [UInt8]) throws -> Bool {
        let document = try JSONParser(dialect: .json5, limits: .catalog).parse(file).get()
        return try SchemaEvaluator(root: try schema()).accepts(document)
    }

    @Test("every object has the reader's keys, and no other")
    func keys() throws {
        let schema = try schema()
        let table: [(place: String, keys: [String])] = [
            ("", CatalogKeys.app), ("/$defs/type", CatalogKeys.type), ("/$defs/link", CatalogKeys.link),
            ("/properties/topics", CatalogKeys.topics), ("/properties/preferences", CatalogKeys.preferences),
            ("/properties/preferences/properties/master", CatalogKeys.master),
            ("/properties/preferences/properties/quietHours", CatalogKeys.quietHoursControls),
            ("/$defs/quietHours/oneOf/1", CatalogKeys.platforms), ("/properties/digest", CatalogKeys.digest),
            ("/$defs/type/properties/defaults", CatalogKeys.defaults), ("/properties/reminders", CatalogKeys.reminders),
            ("/properties/cap", CatalogKeys.cap), ("/$defs/type/properties/burst", CatalogKeys.burst),
            ("/$defs/audience/oneOf/1", CatalogKeys.audience), ("/$defs/mapping", CatalogKeys.mapping),
            ("/$defs/type/properties/actions/items", CatalogKeys.action),
            ("/$defs/android", CatalogKeys.android),
            ("/$defs/apns", CatalogKeys.apple), ("/$defs/templates/additionalProperties", CatalogKeys.words),
        ]
        for (place, keys) in table {
            let object = try #require(JSONPointer(place)?.value(in: schema), "\(place)")
            #expect(object["properties"]?.object?.members.map(\.key).sorted() == keys.sorted(), "\(place)")
            #expect(object["additionalProperties"] == false, "\(place)")
        }
    }

    @Test("every closed list has the values of the code, in their order")
    func enumerations() throws {
        let schema = try schema()
        let reserved = FeedType.allCases.map(\.rawValue) + [SubmissionParser.cancellationType]
        let table: [(place: String, words: [String])] = [
            ("/properties/providers/items", PushProvider.allCases.map(\.rawValue)),
            ("/properties/digest/properties/days/items", Weekday.allCases.map(\.rawValue)),
            ("/properties/types/propertyNames/not", reserved), ("/properties/from/propertyNames/not", reserved),
            ("/$defs/mapping/properties/others", MessageMapping.OtherTypes.allCases.map(\.rawValue)),
            ("/$defs/mappedInstant/properties/unit", InstantUnit.allCases.map(\.rawValue)),
            ("/$defs/type/properties/priority", Priority.allCases.map(\.rawValue)),
            ("/$defs/type/properties/whenMuted", CatalogType.WhenMuted.allCases.map(\.rawValue)),
            ("/$defs/policy", QuietHoursPolicy.allCases.map(\.rawValue)),
            ("/$defs/android/properties/visibility", AndroidOptions.Visibility.allCases.map(\.rawValue)),
            ("/$defs/android/properties/importance", AndroidOptions.Importance.allCases.map(\.rawValue)),
            ("/$defs/apns/properties/interruptionLevel", AppleOptions.InterruptionLevel.allCases.map(\.rawValue)),
        ]
        for (place, words) in table {
            #expect(JSONPointer("\(place)/enum")?.value(in: schema)?.array?.compactMap(\.string) == words, "\(place)")
        }
    }

    @Test("the limits and defaults of the schema are those of the code")
    func limits() throws {
        let schema = try schema()
        let hours = "/properties/preferences/properties/quietHours/properties"
        let table: [(place: String, value: JSONValue)] = [
            ("/$defs/lines/additionalProperties/maxLength", .number(JSONNumber(Int64(FieldLimits.title)))),
            ("/$defs/link/properties/web/maxLength", .number(JSONNumber(Int64(FieldLimits.route)))),
            ("/$defs/route/maxLength", .number(JSONNumber(Int64(FieldLimits.route)))),
            ("/properties/tags/maxProperties", .number(JSONNumber(Int64(CatalogTag.most)))),
            ("/$defs/type/properties/tags/maxItems", .number(JSONNumber(Int64(CatalogTag.mostOfType)))),
            ("/$defs/type/properties/actions/maxItems", .number(JSONNumber(Int64(ActionTemplate.most)))),
            ("/$defs/template/maxLength", .number(JSONNumber(Int64(TemplateParser.longestText)))),
            ("\(hours)/enabled/default", .bool(QuietHours.usual.enabled)),
            ("\(hours)/startHour/default", .number(JSONNumber(Int64(QuietHours.usual.startHour)))),
            ("\(hours)/endHour/default", .number(JSONNumber(Int64(QuietHours.usual.endHour)))),
        ]
        for (place, value) in table { #expect(JSONPointer(place)?.value(in: schema) == value, "\(place)") }
    }

    @Test("the shipped catalogues satisfy the schema", arguments: Repository.apps)
    func shipped(app: String) throws {
        #expect(try accepts(try Repository.bytes("deploy/catalogs/\(app).json5")))
    }

    @Test("the reader accepts everything that the schema accepts", arguments: CatalogKeyTests.good.indices)
    func good(index: Int) throws {
        let (app, type) = CatalogKeyTests.good[index]
        let file = CatalogKeyTests.file(app, type)
        #expect(CatalogSet.load(files: [("a.json5", file)]).failure?.description == nil)
        #expect(try accepts(file), "\(app) \(type)")
    }

    @Test("the reader rejects everything that the schema rejects", arguments: CatalogKeyTests.bad.indices)
    func bad(index: Int) throws {
        let row = CatalogKeyTests.bad[index]
        let file = CatalogKeyTests.file(row.app, row.type)
        #expect(CatalogSet.load(files: [("a.json5", file)]).failure != nil)
        #expect(try accepts(file) == row.isBeyondSchema, "\(row.app) \(row.type)")
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
    }

    @Test("the new app of docs/catalogs.md has a valid catalogue, and its messages are accepted")
    func newApp() throws {
        let page = try Repository.text("docs/catalogs.md")
        let block = try #require(page.firstMatch(of: /```json5\n([\s\S]*?)```/)?.output.1)
        let parser = SubmissionParser(try CatalogSet.load(files: [("canteen.json5", Array(block.utf8))]).get())
        let messages = page.split(separator: "\n")
            .filter { $0.contains(#""app": "canteen", "eventType""#) }
            .map { $0.drop { $0 != "{" }.prefix(through: $0.lastIndex(of: "}") ?? $0.startIndex) }
        #expect(messages.count == 5)
        for message in messages {
            let submission = try parser.parse(InboundEnvelope(body: Array(message.utf8), source: .elsewhere)).get()
            guard case .event(let event) = submission else { continue }
            #expect(event.id.text == "order-1")
        }
    }

    @Test("docs/catalogs.md has a row for every key of an app and of a type, and every language's plural rules")
    func page() throws {
        let rows = try Repository.text("docs/catalogs.md").split(separator: "\n").filter { $0.hasPrefix("|") }
        let named = Set(
            rows.flatMap { $0.split(separator: "|")[0].matches(of: /`([a-zA-Z]+)`/).map { String($0.output.1) } }
        )
        let keys = Set(CatalogKeys.app + CatalogKeys.type)
        #expect(keys.subtracting(named) == [])
        let usual = "every language not named here"
        for (rule, languages) in PluralRule.languages {
            let categories = rule.categories.map(\.rawValue)
            for language in languages {
                let row = rows.first {
                    $0.split(separator: "|")[0].split { " ,".contains($0) }.contains(Substring(language))
                }
                let told = row.map {
                    $0.split(separator: "|")[1].matches(of: /zero|one|two|few|many|other/).map { String($0.output) }
                }
                #expect(told == categories, "\(language)")
            }
        }
        #expect(rows.contains { $0.contains(usual) && $0.contains("one, other") })
    }
}
