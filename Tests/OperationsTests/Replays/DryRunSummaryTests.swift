import Testing

@testable import Operations
@testable import Pipeline

@Suite("Counts of a dry run")
struct DryRunSummaryTests {
    @Test("every item is counted, and only a limited number is named")
    func many() {
        var tally = DryRunSummary()
        for number in 0..<2_500 {
            let prediction = ReplayPrediction(number < 2_000 ? .wouldRecord : .alreadyRecorded)
            tally.add(prediction, of: "item-\(number)")
        }
        #expect(tally.named.count == 1_000)
        #expect(tally.unnamed == 1_500)
        let json = tally.json.written
        #expect(json.contains(#"{"prediction":"would-record","detail":null,"count":2000}"#))
        #expect(json.contains(#"{"prediction":"already-recorded","detail":null,"count":500}"#))
        #expect(tally.named.first?.written.contains("item-0") == true)
    }

    @Test("details are counted together beyond a limit, and none is lost")
    func details() {
        var tally = DryRunSummary()
        for number in 0..<300 { tally.add(ReplayPrediction(.stillInvalid, "reason-\(number)"), of: "i") }
        #expect(tally.json.written.contains(#""detail":"others","count":100}"#))
        #expect(tally.rows.count == 201)
    }
}
