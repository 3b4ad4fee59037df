import Store
import Testing

@testable import Pipeline

@Suite("A round of the retention")
struct RetentionRoundTests {
    @Test("a table that was broken off is gone on with where it failed, and from its beginning if it fails there again")
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

    @Test("a table that was walked to its end begins anew, and one that never began has nothing to go on with")
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
