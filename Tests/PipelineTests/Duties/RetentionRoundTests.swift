import Store
import Testing

@testable import Pipeline

@Suite("Rounds of retention")
struct RetentionRoundTests {
    @Test("an interrupted table continues at the page where it failed, and at its start if it fails there again")
    func brokenOff() {
        var round = RetentionDuty.Round(of: [.notifications, .events])
        round.page = 7
        var goesOn = round.breakOff()
        #expect(goesOn)
        #expect(round.kind == .events)
        #expect(round.page == 0)
        goesOn = round.turn()
        #expect(!goesOn)
        #expect(round.kind == .notifications)
        #expect(round.page == 7)
        goesOn = round.breakOff()
        #expect(round.kind == .events)
        goesOn = round.turn()
        #expect(round.kind == .notifications)
        #expect(round.page == 0)
    }

    @Test("a table that was walked to its end starts again, and a round that never began has nothing to continue")
    func walked() {
        var round = RetentionDuty.Round(of: [.tombstones])
        round.page = 9
        var goesOn = round.turn()
        #expect(!goesOn)
        #expect(round.page == 0)
        goesOn = round.breakOff()
        #expect(!goesOn)
        #expect(round.page == 0)
        var none = RetentionDuty.Round(of: [])
        goesOn = none.breakOff()
        #expect(none.kind == nil)
    }
}
