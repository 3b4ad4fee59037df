import BellhopRules
import Testing

@Suite("Buttons of a catalogue's type")
struct ActionTests {
    private static let text = """
        {
          app: "shop", language: "en", timezone: "UTC",
          link: { web: "/all", mobile: "/all" },
          phrases: { see: { en: "See", nb: "Se" } },
          types: {
            order: {
              priority: "normal", label: { en: "Orders" },
              actions: [
                {
                  label: { en: "{see, phrase} {targetId}", nb: "{see, phrase} {targetId}" },
                  link: { web: "/orders/{targetId}?at={venueId}", mobile: "/o", scheme: "shop://o/{targetId}" },
                },
                { label: { en: "Track {parcel.name}" }, link: { web: "/track", mobile: "/track" } },
                { label: { en: "Help" }, link: { web: "/help/{topic}", mobile: "/help" } },
              ],
            },
            bare: { priority: "low", label: { en: "Bare" } },
          },
        }
        """

    private let catalog: Catalog

    init() throws {
        catalog = try CatalogSet.load(files: [("shop.json5", Array(Self.text.utf8))]).get().catalogs[0]
    }

    private func actions(
        _ data: JSONObject,
        type: String = "order",
        target: String? = "a&b/ø",
        venue: String? = "42",
        language: String? = nil
    ) throws -> [NotificationAction] {
        catalog.actions(
            of: try #require(EventType(validating: type)),
            data: data,
            targetID: target,
            venueID: venue,
            language: language.flatMap(LanguageTag.init(validating:))
        )
    }

    @Test("labels and links contain the stored values, and those of links are percent-encoded")
    func values() throws {
        let all = try actions(["parcel": ["name": "Tea {x}"], "topic": "a b"])
        #expect(all.map(\.label) == ["See a&b/ø", "Track Tea {x}", "Help"])
        #expect(
            all[0].link
                == DeepLink(web: "/orders/a%26b%2F%C3%B8?at=42", mobile: "/o", scheme: "shop://o/a%26b%2F%C3%B8")
        )
        #expect(all.map(\.link.web).dropFirst() == ["/track", "/help/a%20b"])
    }

    @Test("a button without a value in its label or link is left out, and the others stay in their order")
    func missing() throws {
        #expect(try actions([:]).map(\.label) == ["See a&b/ø"])
        #expect(try actions(["topic": "x"], target: nil).map(\.label) == ["Help"])
        #expect(try actions(["parcel": ["name": "T"]], venue: nil).map(\.label) == ["Track T"])
        #expect(try actions([:], type: "bare").isEmpty && catalog.hasActions)
        #expect(try actions([:], type: "unknown").isEmpty)
    }

    @Test("a label has at most the length of a title, and a link that of a route")
    func limits() throws {
        let room = FieldLimits.title - "Track ".count
        for (length, isShown) in [(room, true), (room + 1, false)] {
            let name = JSONValue.string(String(repeating: "ø", count: length))
            #expect(try actions(["parcel": ["name": name]], target: nil).isEmpty != isShown, "\(length)")
        }
        let rest = FieldLimits.route - "/help/".count
        for (length, isShown) in [(rest, true), (rest + 1, false)] {
            let topic = JSONValue.string(String(repeating: "x", count: length))
            #expect(try actions(["topic": topic], target: nil).isEmpty != isShown, "\(length)")
        }
    }

    @Test("a label is in the user's language if it has it, and otherwise in the app's")
    func languages() throws {
        let data: JSONObject = ["topic": "x"]
        #expect(try actions(data, language: "nb-NO").map(\.label) == ["Se a&b/ø", "Help"])
        #expect(try actions(data, language: "sv").map(\.label) == ["See a&b/ø", "Help"])
    }

    @Test("clients may follow the scheme of a button")
    func schemes() { #expect(catalog.schemes == ["shop"]) }
}
