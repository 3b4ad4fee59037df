import BellhopRules
import TestSupport
import Testing

@Suite("Time words")
struct TimeWordsTests {
    @Test("time words match the table that also tests the notification centre")
    func table() throws {
        let text = try Checkout.text("Tests/Tables/time-words.json")
        let rows = try JSONParser().parse(Array(text.utf8)).get().array ?? []
        #expect(rows.count >= 20)
        for row in rows {
            let fields = ["language", "zone", "at", "now"].map { row[$0]?.string ?? "" }
            let language = try #require(LanguageTag(validating: fields[0]))
            let zone = try Zones.named(fields[1])
            let instant = try #require(Timestamp(validating: fields[2]))
            let now = try #require(Timestamp(validating: fields[3]))
            let words = BellhopRulesTests.row(instant, now: now, zone: zone, language: language)
            #expect(words.day == row["day"]?.string, "\(row)")
            #expect(words.time == row["time"]?.string, "\(row)")
        }
    }
}
