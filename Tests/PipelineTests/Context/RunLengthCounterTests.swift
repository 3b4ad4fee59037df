import TestSupport
import Testing

@testable import Pipeline

@Suite("Counts of runs")
struct RunLengthCounterTests {
    @Test("runs of equal values, and returns to an earlier value, add up")
    func runs() {
        var tally = RunLengthCounter<String>()
        for word in ["a", "a", "b", "a", "c", "c", "b"] { tally.add(word) }
        #expect(tally.counted() == ["a": 3, "b": 2, "c": 2])
        #expect(RunLengthCounter<String>().counted().isEmpty)
    }
}
