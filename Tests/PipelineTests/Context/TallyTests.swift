import TestSupport
import Testing

@testable import Pipeline

@Suite("Counting what comes in runs")
struct TallyTests {
    @Test("runs of the same and returns to what was counted before add up")
    func runs() {
        var tally = Tally<String>()
        for word in ["a", "a", "b", "a", "c", "c", "b"] { tally.add(word) }
        #expect(tally.counted() == ["a": 3, "b": 2, "c": 2])
        #expect(Tally<String>().counted().isEmpty)
    }
}
