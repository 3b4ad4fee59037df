import BellhopRules
import Testing

@Suite("Rendering")
struct RenderingTests {
    private static let text = """
        {
          app: "shop", language: "en", timezone: "UTC",
          aliases: { orderId: "targetId", price: "order.price" },
          link: { web: "/all", mobile: "/all" },
          types: {
            order: {
              priority: "normal", label: { en: "Orders" },
              templates: {
                en: { title: "Order {orderId}: {price} '{'net'}'", body: "{count} of {order.name} at {venueId}" },
                nb: { title: "Ordre {orderId}" },
                "nb-NO": { title: "Bestilling {orderId}" },
              },
              link: { web: "/orders/{orderId}?n={order.name}", mobile: "/o/{orderId}" },
            },
            bare: { priority: "low", label: { en: "Bare" } },
          },
        }
        """

    private func render(_ changes: KeyValuePairs<String, JSONValue?>, language: String? = nil) throws -> Result<
        RenderedContent, Rejection
    > {
        let set = try CatalogSet.load(files: [("shop.json5", Array(Self.text.utf8))]).get()
        var object: JSONObject = [
            "id": "e1", "app": "shop", "eventType": "order", "to": ["user": "u"], "targetId": "a&b/ø", "venueId": "42",
            "data": ["count": 3, "order": ["name": "Tea {x}", "price": "5.00"]],
        ]
        for (key, value) in changes { object[key] = value }
        guard case .event(let event) = try SubmissionParser(set).parse(SampleMessages.envelope(object)).get() else {
            throw NotAnEvent()
        }
        let catalog = try #require(set[event.app])
        return catalog.render(event, language: language.flatMap(LanguageTag.init(validating:)))
    }

    private struct NotAnEvent: Error {}

    @Test("separate routes apply to their kind of client, and the catalogue's link supplies the others")
    func separateRoutes() throws {
        func link(_ route: JSONObject, type: String = "pay") throws -> [String?] {
            let text = """
                {app: "shop", language: "en", timezone: "UTC", routes: {"/old": "/new"},
                 types: {
                   pay: {priority: "low", label: {en: "P"}, link: {web: "/p", mobile: "/m/{targetId}", scheme: "s://p"}},
                   bare: {priority: "low", label: {en: "B"}},
                 }}
                """
            let set = try CatalogSet.load(files: [("shop.json5", Array(text.utf8))]).get()
            let object: JSONObject = [
                "id": "e1", "app": "shop", "eventType": .string(type), "to": ["user": "u"], "title": "T",
                "targetId": "7", "route": .object(route),
            ]
            guard case .event(let event) = try SubmissionParser(set).parse(SampleMessages.envelope(object)).get()
            else { throw NotAnEvent() }
            let rendered = try #require(set[event.app]).render(event, language: nil).get()
            return [rendered.link?.web, rendered.link?.mobile, rendered.link?.scheme, rendered.reroutedFrom]
        }
        #expect(try link(["web": "/w"]) == ["/w", "/m/7", "s://p", nil])
        #expect(try link(["mobile": "/o"]) == ["/p", "/o", nil, nil])
        #expect(try link(["scheme": "s://x"]) == ["/p", "/m/7", "s://x", nil])
        #expect(try link(["web": "/w", "mobile": "/o", "scheme": "s://x"]) == ["/w", "/o", "s://x", nil])
        #expect(try link(["web": "/w", "mobile": "/old/1"]) == ["/w", "/new/1", nil, "/old"])
        #expect(try link(["web": "/w"], type: "bare") == ["/w", "/", nil, nil])
    }

    @Test("gaps are filled from the event by path and by alias, braces can be written, and values are not parsed again")
    func gaps() throws {
        let rendered = try render([:]).get()
        #expect(rendered.title == "Order a&b/ø: 5.00 {net}")
        #expect(rendered.body == "3 of Tea {x} at 42")
    }

    @Test("values in links are percent-encoded")
    func links() throws {
        let link = try #require(try render([:]).get().link)
        #expect(link.web == "/orders/a%26b%2F%C3%B8?n=Tea%20%7Bx%7D")
        #expect(link.mobile == "/o/a%26b%2F%C3%B8")
        #expect(link.scheme == nil)
    }

    @Test(
        "the best match for the user's language is used",
        arguments: [
            (nil, "Order a&b/ø: 5.00 {net}"), ("nb", "Ordre a&b/ø"), ("nb-NO", "Bestilling a&b/ø"),
            ("nb_no", "Bestilling a&b/ø"),
            ("nb-SJ", "Ordre a&b/ø"), ("no", "Ordre a&b/ø"), ("nn-NO", "Ordre a&b/ø"),
            ("de", "Order a&b/ø: 5.00 {net}"), ("en-GB", "Order a&b/ø: 5.00 {net}"),
        ] as [(String?, String)]
    )
    func languages(language: String?, title: String) throws {
        #expect(try render([:], language: language).get().title == title)
    }

    @Test("explicit texts take precedence, each separately, and need no values")
    func explicitWords() throws {
        let both = try render(["title": "T", "body": "", "data": nil]).get()
        #expect(both.title == "T")
        #expect(both.body == "")
        let titleOnly = try render(["title": "T"]).get()
        #expect(titleOnly.body == "3 of Tea {x} at 42")
        let noBody = try render([:], language: "nb").get()
        #expect(noBody.body == "")
    }

    @Test(
        "a missing value rejects the event and is named",
        arguments: [
            (["data": ["order": ["name": "x", "price": "1"]]], "/data/count"),
            (["data": ["count": 1]], "/data/order/price"),
            (["data": nil], "/data/order/price"), (["data": ["count": 1, "order": "x"]], "/data/order/price"),
            (["data": ["count": true, "order": ["name": "x", "price": "1"]]], "/data/count"),
            (["data": ["count": .null, "order": ["name": "x", "price": "1"]]], "/data/count"),
            (["data": ["count": "", "order": ["name": "x", "price": "1"]]], "/data/count"),
            (["targetId": nil], "/targetId"), (["venueId": nil], "/venueId"),
        ] as [(KeyValuePairs<String, JSONValue?>, String)]
    )
    func missing(changes: KeyValuePairs<String, JSONValue?>, pointer: String) throws {
        let rejection = try #require(try render(changes).failure)
        #expect(rejection.reason == .invalidField)
        #expect(rejection.pointer.text == pointer)
        #expect(rejection.eventID?.text == "e1")
        #expect(rejection.app?.text == "shop")
    }

    @Test("filled texts have the same limits as explicit ones")
    func limits() throws {
        let long = JSONValue.string(String(repeating: "x", count: 600))
        let rejection = try #require(
            try render(["data": ["count": 1, "order": ["name": "n", "price": long]]]).failure
        )
        #expect(rejection.pointer.text == "/data")
        #expect(rejection.reason == .invalidField)
    }

    @Test("a title that is empty after rendering rejects the event")
    func emptyTitle() throws {
        let text = """
            {app: "a", language: "en", timezone: "UTC", types: {t: {priority: "low", label: {en: "T"}, templates: {
                en: {title: "{n, plural, =0 {} other {#}}", body: "{n, plural, =0 {} other {#}}"}}}}}
            """
        let set = try CatalogSet.load(files: [("a", Array(text.utf8))]).get()
        for (number, pointer) in [(0, "/data"), (1, nil)] as [(Int64, String?)] {
            let body: JSONObject = [
                "id": "e", "app": "a", "eventType": "t", "to": ["user": "u"],
                "data": ["n": .number(JSONNumber(number))],
            ]
            guard case .event(let event) = try SubmissionParser(set).parse(SampleMessages.envelope(body)).get() else {
                throw NotAnEvent()
            }
            #expect(set.catalogs[0].render(event, language: nil).failure?.pointer.text == pointer)
        }
    }

    @Test("a type without texts needs a title, and no body")
    func bare() throws {
        let rejection = try #require(try render(["eventType": "bare"]).failure)
        #expect(rejection.reason == .invalidField)
        #expect(rejection.pointer.text == "/title")
        let rendered = try render(["eventType": "bare", "title": "T"]).get()
        #expect(rendered.title == "T")
        #expect(rendered.body == "")
    }

    @Test("a route takes precedence over the type's link, and that over the app's; a link without its value is skipped")
    func linkOrder() throws {
        #expect(
            try render(["route": "/here?a=b c"]).get().link?.json == ["web": "/here?a=b c", "mobile": "/here?a=b c"]
        )
        #expect(try render(["eventType": "bare", "title": "T"]).get().link?.web == "/all")
        #expect(try render(["title": "T", "body": "B", "targetId": nil]).get().link?.mobile == "/all")
    }
}
