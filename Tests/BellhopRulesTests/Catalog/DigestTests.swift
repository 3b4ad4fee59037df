import BellhopRules
import Testing

@Suite("Texts of a digest")
struct DigestTests {
    private func catalog(_ words: String, titles: Int = 3) throws -> Catalog {
        let text = """
            {app: "a", language: "en", timezone: "UTC", link: {web: "/all", mobile: "/all"},
             digest: {at: ["08:00"], titles: \(titles), templates: {\(words)}},
             types: {t: {priority: "low", label: {en: "T", nb: "T"}}}}
            """
        return try #require(try CatalogSet.load(files: [("a.json5", Array(text.utf8))]).get().catalogs.first)
    }

    private static let plain = "en: {title: '{count} new', body: '{titles}|{more}'}"

    @Test("each title appears once, and notifications without a shown title are counted")
    func titles() throws {
        let catalog = try catalog(Self.plain, titles: 2)
        let digest = try #require(catalog.renderDigest(titles: ["A", "B", "A", "C"], count: 9, language: nil))
        #expect(digest.title == "9 new")
        #expect(digest.body == "A, B|6")
        #expect(digest.link?.web == "/all")
        let same = try #require(catalog.renderDigest(titles: ["A", "A", "A"], count: 3, language: nil))
        #expect(same.body == "A|0")
    }

    @Test("a digest is in the user's language")
    func language() throws {
        let catalog = try catalog("\(Self.plain), nb: {title: '{count} nye'}")
        let norwegian = try #require(LanguageTag(validating: "nb"))
        #expect(catalog.renderDigest(titles: ["A"], count: 1, language: norwegian)?.title == "1 nye")
        #expect(catalog.renderDigest(titles: ["A"], count: 1, language: norwegian)?.body == "")
    }

    @Test("a long title is cut between characters, and titles that do not fit are omitted and counted")
    func long() throws {
        let catalog = try catalog("en: {title: '{titles}', body: '{more}'}", titles: 20)
        let long = String(repeating: "🇳🇴x", count: 256)
        let digest = try #require(catalog.renderDigest(titles: [long, "B"], count: 2, language: nil))
        #expect(digest.title == String(repeating: "🇳🇴x", count: 39) + "🇳🇴…, B")
        let many = (0..<20).map { String($0 % 10) + String(repeating: "y", count: 511 + $0 / 10) }
        let crowd = try #require(catalog.renderDigest(titles: many, count: 20, language: nil))
        #expect(crowd.title.split(separator: ",").count == 4)
        #expect(crowd.body == "16")
    }

    @Test("texts that are still too long are cut, and an empty title is replaced by a notification's title")
    func hopeless() throws {
        let long = "en: {title: '\(String(repeating: "{titles} ", count: 20))', body: 'B'}"
        let cut = try #require(
            try catalog(long).renderDigest(titles: [String(repeating: "a", count: 200)], count: 1, language: nil)
        )
        #expect(cut.title.unicodeScalars.count == FieldLimits.title)
        #expect(cut.title.hasSuffix("…"))
        let empty = try catalog("en: {title: '{more, plural, =0 {} other {x}}'}")
        #expect(empty.renderDigest(titles: ["A"], count: 1, language: nil)?.title == "A")
        let mark = String(repeating: "\u{301}", count: 600)
        #expect(empty.renderDigest(titles: ["a" + mark], count: 1, language: nil)?.title == "…")
    }

    @Test("no digest is rendered without titles or without a digest in the catalogue")
    func nothing() throws {
        #expect(try catalog(Self.plain).renderDigest(titles: [], count: 0, language: nil) == nil)
        #expect(try Repository.catalog("venues").renderDigest(titles: ["A"], count: 1, language: nil) == nil)
    }

    @Test("extreme counts are rendered without further effects")
    func counts() throws {
        let catalog = try catalog(Self.plain)
        #expect(catalog.renderDigest(titles: ["A"], count: .max, language: nil) != nil)
        #expect(catalog.renderDigest(titles: ["A", "B"], count: .min, language: nil)?.body == "A, B|0")
    }
}
