import TestSupport
import Testing

@testable import AMQP

@Suite("Settling deliveries with few frames")
struct AckTrackerTests {
    @Test("one frame acknowledges a whole run, settled in any order")
    func coalescing() {
        var ledger = delivered(5)
        for number in [3, 1, 2, 5, 4] as [UInt64] { ledger.settle(number, .acknowledged) }
        expectOrders(&ledger, [.init(verdict: .acknowledged, number: 5, multiple: true)])
        expectOrders(&ledger, [])
    }

    @Test("each settlement beyond an unsettled delivery has a separate frame")
    func singles() {
        var ledger = delivered(5)
        for number in [1, 3, 5] as [UInt64] { ledger.settle(number, .acknowledged) }
        expectOrders(
            &ledger,
            [
                .init(verdict: .acknowledged, number: 1, multiple: false),
                .init(verdict: .acknowledged, number: 3, multiple: false),
                .init(verdict: .acknowledged, number: 5, multiple: false),
            ]
        )
        ledger.settle(2, .acknowledged)
        ledger.settle(4, .acknowledged)
        expectOrders(&ledger, [.init(verdict: .acknowledged, number: 4, multiple: true)])
    }

    @Test("runs of released deliveries are separate from acknowledged ones")
    func released() {
        var ledger = delivered(6)
        for number in 1...6 as ClosedRange<UInt64> {
            ledger.settle(number, number < 3 || number == 6 ? .acknowledged : .released)
        }
        expectOrders(
            &ledger,
            [
                .init(verdict: .acknowledged, number: 2, multiple: true),
                .init(verdict: .released, number: 5, multiple: true),
                .init(verdict: .acknowledged, number: 6, multiple: false),
            ]
        )
    }

    @Test("the first settlement counts, and unknown and repeated ones are ignored")
    func once() {
        var ledger = delivered(2)
        ledger.settle(1, .acknowledged)
        ledger.settle(1, .released)
        for number in [0, 3, UInt64.max] { ledger.settle(number, .acknowledged) }
        expectOrders(&ledger, [.init(verdict: .acknowledged, number: 1, multiple: false)])
        ledger.settle(1, .acknowledged)
        expectOrders(&ledger, [])
    }

    @Test("a delivery out of order is detected")
    func order() {
        var ledger = AckTracker()
        let verdicts = [2, 1, 1, 2].map { ledger.deliver($0) }
        #expect(verdicts == [false, true, false, true])
    }

    @Test("a broker that applies the frames ends with exactly the settlements, in any order of settling")
    func model() {
        let seed = UInt64.random(in: 1...UInt64.max)
        var chance = SeededChance(seed)
        var ledger = AckTracker()
        var open: Set<UInt64> = []
        var wanted: [UInt64: AckTracker.Acknowledgement] = [:]
        var told: [UInt64: AckTracker.Acknowledgement] = [:]
        var next: UInt64 = 1
        for _ in 0..<1000 {
            for _ in 0..<Int.random(in: 0...8, using: &chance) {
                let isNext = ledger.deliver(next)
                #expect(isNext)
                open.insert(next)
                next += 1
            }
            for number in open.shuffled(using: &chance).prefix(Int.random(in: 0...8, using: &chance))
            where wanted[number] == nil {
                wanted[number] = Bool.random(using: &chance) ? .acknowledged : .released
                ledger.settle(number, wanted[number] ?? .released)
            }
            let runs = ledger.takeRuns()
            for order in runs + (Bool.random(using: &chance) ? ledger.takeSingles() : []) {
                let covered: Set<UInt64> = order.multiple ? open.filter { $0 <= order.number } : [order.number]
                #expect(
                    !covered.isEmpty && covered.isSubset(of: open),
                    "seed \(seed): a frame about nothing closes the channel"
                )
                for number in covered { told[number] = order.verdict }
                open.subtract(covered)
            }
            #expect(told.allSatisfy { wanted[$0.key] == $0.value }, "seed \(seed)")
            #expect(told.count + ledger.waiting == wanted.count, "seed \(seed)")
        }
        ledger.releaseHeld()
        let last = ledger.takeRuns()
        for order in last { open = open.filter { order.multiple ? $0 > order.number : $0 != order.number } }
        #expect(open.isEmpty, "seed \(seed)")
        #expect(ledger.waiting == 0, "seed \(seed)")
    }

    private func delivered(_ count: UInt64) -> AckTracker {
        var ledger = AckTracker()
        for number in 1...count { _ = ledger.deliver(number) }
        return ledger
    }

    private func expectOrders(
        _ ledger: inout AckTracker,
        _ orders: [AckTracker.AckFrame],
        at location: SourceLocation = #_sourceLocation
    ) {
        let taken = ledger.takeRuns() + ledger.takeSingles()
        #expect(taken == orders, sourceLocation: location)
    }
}
