import TestSupport
import Testing

@testable import BellhopRules

@Suite("Texts of a notification")
struct NotificationTextsTests {
    @Test("each field has its own text, and an absent one differs from an empty one")
    func fields() {
        var builder = NotificationTexts.Builder(expecting: 1)
        for field in NotificationTexts.Field.allCases where field != .venueID {
            builder.set(field, field == .body ? "" : "text å \(field)")
        }
        #expect(builder.byteCount(of: .title) == "text å title".utf8.count)
        #expect(builder.byteCount(of: .venueID) == 0)
        let texts = builder.finished()
        for field in NotificationTexts.Field.allCases where field != .venueID && field != .body {
            #expect(texts[field] == "text å \(field)")
            #expect(texts.has(field))
        }
        #expect(texts[.body]?.isEmpty == true)
        #expect(texts[.venueID] == nil)
        #expect(!texts.has(.venueID))
    }

    @Test("a removed text is absent, and the others stay")
    func removed() {
        var builder = NotificationTexts.Builder()
        builder.set(.webLink, "/a")
        builder.set(.title, "t")
        builder.remove(.webLink)
        let texts = builder.finished()
        #expect(texts[.webLink] == nil)
        #expect(texts[.title] == "t")
    }

    @Test("a text larger than the expected size is kept whole")
    func large() {
        let large = String(repeating: "å", count: 300_000)
        var builder = NotificationTexts.Builder(expecting: 16)
        builder.set(.title, "t")
        builder.set(.data, large)
        let texts = builder.finished()
        #expect(texts[.data] == large)
        #expect(texts[.title] == "t")
        #expect(texts.byteCount == large.utf8.count + 1)
    }
}
