import Testing

@testable import Pipeline

@Suite("Detection of mass failures")
struct MassRevocationDetectorTests {
    /// Returns whether the detector raises an alarm at each of these steps.
    private static func alarms(_ steps: [(gone: Int, answers: Int, minute: Int64)]) -> [Bool] {
        var watch = MassRevocationDetector()
        return steps.map { watch.take(gone: $0.gone, of: $0.answers, atMinute: $0.minute) }
    }

    @Test("an alarm needs at least fifty gone devices, and more than half of the answers")
    func thresholds() {
        #expect(Self.alarms([(49, 49, 1), (1, 1, 1)]) == [false, true])
        #expect(Self.alarms([(60, 120, 1), (1, 1, 1)]) == [false, true])
    }

    @Test("gone devices add up over ten minutes, and older ones are forgotten")
    func window() {
        let steady = (1...10).map { (gone: 4, answers: 5, minute: Int64($0)) }
        let alarms = Self.alarms(steady + [(20, 20, 10), (5, 5, 21)])
        #expect(alarms == Array(repeating: false, count: 10) + [true, false])
    }

    @Test("answers without gone devices raise no alarm, and a reset starts the count again")
    func reset() {
        #expect(Self.alarms([(60, 60, 1), (0, 5, 1)]) == [true, false])
        var watch = MassRevocationDetector()
        _ = watch.take(gone: 60, of: 60, atMinute: 1)
        watch.reset()
        let isAlarmed = watch.take(gone: 49, of: 49, atMinute: 1)
        #expect(!isAlarmed)
    }
}
