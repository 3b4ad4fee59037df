import Testing

@testable import Pipeline

@Suite("Detection of mass failures")
struct MassRevocationDetectorTests {
    /// Returns whether the detector raises an alarm at each of these steps.
    private static func alarms(_ steps: [(gone: Int, answers: Int, second: Int64)]) -> [Bool] {
        var watch = MassRevocationDetector()
        return steps.map { watch.take(gone: $0.gone, of: $0.answers, atSecond: $0.second) }
    }

    @Test("an alarm needs at least fifty gone devices, and more than half of the answers")
    func thresholds() {
        #expect(Self.alarms([(49, 49, 1), (1, 1, 1)]) == [false, true])
        #expect(Self.alarms([(60, 120, 1), (1, 1, 1)]) == [false, true])
    }

    @Test("gone devices add up over ten minutes, and older ones are forgotten")
    func window() {
        let steady = (1...10).map { (gone: 4, answers: 5, second: Int64(60 * $0)) }
        let alarms = Self.alarms(steady + [(20, 20, 600), (5, 5, 1_260)])
        #expect(alarms == Array(repeating: false, count: 10) + [true, false])
    }

    @Test("acceptances of a campaign do not hide that all devices are gone afterwards")
    func afterCampaign() {
        let alarms = Self.alarms([(0, 10_000, 0), (0, 10_000, 9), (40, 40, 20), (9, 9, 31), (1, 1, 32)])
        #expect(alarms == [false, false, false, false, true])
    }

    @Test("gone devices among many acceptances of the same ten seconds raise no alarm")
    func amongAcceptances() {
        #expect(Self.alarms([(0, 1_000, 0), (400, 500, 9)]) == [false, false])
        #expect(
            Self.alarms([(400, 1_000, 0), (49, 49, 10), (0, 500, 11), (1, 1, 12)]) == Array(repeating: false, count: 4)
        )
    }

    @Test("answers without gone devices raise no alarm, and a reset starts the count again")
    func reset() {
        #expect(Self.alarms([(60, 60, 1), (0, 5, 1)]) == [true, false])
        var watch = MassRevocationDetector()
        _ = watch.take(gone: 60, of: 60, atSecond: 60)
        watch.reset()
        let isAlarmed = watch.take(gone: 49, of: 49, atSecond: 60)
        #expect(!isAlarmed)
    }
}
