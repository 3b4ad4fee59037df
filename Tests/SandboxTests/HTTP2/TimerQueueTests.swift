import ServiceRuntime
import Testing

@testable import Sandbox

@Suite("The timer queue")
struct TimerQueueTests {
    @Test("the queue returns due items by time, and items with equal times in order of insertion")
    func givesInOrder() {
        let start = ContinuousClock.now
        var queue = TimerQueue<Int>()
        var generator = SplitMix(seed: 3)
        let delays = (0..<500).map { _ in Int.random(in: 0..<50, using: &generator) }
        for (index, delay) in delays.enumerated() { queue.add(index, at: start + .milliseconds(delay)) }
        #expect(queue.nextDeadline == delays.min().map { start + .milliseconds($0) })

        var given: [Int] = []
        while let index = queue.takeDue(start + .milliseconds(24)) { given.append(index) }
        #expect(given == delays.indices.filter { delays[$0] <= 24 }.sorted { (delays[$0], $0) < (delays[$1], $1) })
        #expect(queue.count == 500 - given.count)
        while queue.takeDue(start + .seconds(1)) != nil {}
        #expect(queue.isEmpty)
        #expect(queue.nextDeadline == nil)
    }
}
