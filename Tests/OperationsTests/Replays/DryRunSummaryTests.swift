import BellhopRules
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

    @Test("waits are counted by their reason, with the last end, and a missing device is named as such")
    func waits() {
        var tally = DryRunSummary()
        for seconds in [10, 30, 20] as [Int64] {
            let wait = Wait(.quietHours, until: Timestamp(clamping: seconds * 1_000_000))
            tally.add(ReplayPrediction(.wait(wait)), of: "i")
        }
        tally.add(ReplayPrediction(.suppress(.noDevice)), of: "j")
        let json = tally.json.written
        let end = #"{"prediction":"quiet-until","detail":"quiet-hours","count":3,"until":"1970-01-01T00:00:30.000Z"}"#
        #expect(json.contains(end), "\(json)")
        #expect(json.contains(#"{"prediction":"no-device","detail":null,"count":1}"#), "\(json)")
        #expect(tally.rows.first?.words == "quiet-until, quiet-hours, the last at 1970-01-01 00:00:30 UTC")
    }

    @Test("details are counted together beyond a limit, and none is lost")
    func details() {
        var tally = DryRunSummary()
        for number in 0..<300 { tally.add(ReplayPrediction(.stillInvalid, "reason-\(number)"), of: "i") }
        #expect(tally.json.written.contains(#""detail":"others","count":100}"#))
        #expect(tally.rows.count == 201)
    }
}
