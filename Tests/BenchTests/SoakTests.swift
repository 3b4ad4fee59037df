import ServiceRuntime
import Testing

@testable import Bench

@Suite("Figures of a soak")
struct SoakTests {
    /// A minute's samples of a value that grows by `perHour`, with a deviation in turns above and below.
    private static func points(_ count: Int, from start: Double, perHour: Double, deviation: Double = 0)
        -> [(hours: Double, value: Double)]
    {
        (0..<count).map { index in
            let hours = Double(index) / 60
            return (hours, start + perHour * hours + (index.isMultiple(of: 2) ? deviation : -deviation))
        }
    }

    @Test("the slope is that of the least squares, with twice its standard error")
    func slopes() throws {
        let trend = Trend([(0, 1), (1, 2), (2, 6)], tolerance: 0.05)
        #expect(trend.mean == 3)
        #expect(trend.perHour == 2.5)
        // The rests are 0.5, −1 and 0.5: 1.5 with one degree of freedom, over a spread of 2.
        #expect(abs(trend.uncertainty - 2 * (1.5 / 2).squareRoot()) < 1e-9)
    }

    @Test("a figure is flat, grows or falls if its growth over the time certainly is within or beyond the tolerance")
    func judges() {
        #expect(Trend(Self.points(60, from: 100, perHour: 0), tolerance: 0.05).verdict == .flat)
        #expect(Trend(Self.points(60, from: 100, perHour: 1, deviation: 2), tolerance: 0.05).verdict == .flat)
        #expect(Trend(Self.points(60, from: 100, perHour: 20, deviation: 2), tolerance: 0.05).verdict == .grows)
        #expect(Trend(Self.points(60, from: 100, perHour: -20, deviation: 2), tolerance: 0.05).verdict == .falls)
        #expect(Trend(Self.points(60, from: 100, perHour: 5, deviation: 30), tolerance: 0.05).verdict == .unclear)
    }

    @Test("there is no verdict after few samples or a short time, and no slope after two")
    func doubts() {
        #expect(Trend(Self.points(9, from: 100, perHour: 500), tolerance: 0.05).verdict == .unclear)
        let seconds = (0..<60).map { (hours: Double($0) / 3_600, value: Double($0)) }
        #expect(Trend(seconds, tolerance: 0.05).verdict == .unclear)
        let two = Trend([(0, 1), (1, 2)], tolerance: 0.05)
        #expect(two.perHour == nil && two.verdict == .unclear)
        #expect(two.words { "\($0)" } == "unclear: too few samples")
        #expect(Trend([], tolerance: 0.05).perHour == nil)
    }

    @Test("the first quarter of a soak does not count, and figures that grow later are faults of the run")
    func leavesOutTheStart() {
        func samples(_ memory: (Int) -> Int) -> [SoakSample] {
            (1...60).map { minute in
                SoakSample(
                    seconds: Double(minute) * 60,
                    eventsPerSecond: 500,
                    waiting: 0,
                    memory: memory(minute),
                    descriptors: 40,
                    disk: 100_000_000,
                    p99: minute.isMultiple(of: 7) ? nil : 5,
                    ownMemory: 30_000_000 + minute * 1_000_000
                )
            }
        }
        let settled = SoakTrends(samples { $0 <= 15 ? $0 * 1_000_000 : 50_000_000 })
        #expect(settled.memory.verdict == .flat && settled.memory.mean == 50_000_000)
        #expect(settled.p99.verdict == .flat)
        #expect(settled.faults.isEmpty, "the benchmark's own memory is not the worker's fault")
        #expect(settled.ownMemory.verdict == .grows)
        let leaking = SoakTrends(samples { 50_000_000 + $0 * 200_000 })
        #expect(leaking.faults == ["the worker's memory grows"])
    }

    @Test("the end of a soak can be requested once, and not before its load")
    func stops() {
        let stop = SoakStop()
        #expect(!stop.request() && !stop.isRequested)
        stop.begin()
        #expect(stop.request() && stop.isRequested)
        #expect(!stop.request() && stop.isRequested)
    }
}
