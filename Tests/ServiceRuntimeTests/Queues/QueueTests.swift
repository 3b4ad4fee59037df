import ServiceRuntime
import TestSupport
import Testing

@Suite("A queue")
struct QueueTests {
    @Test("behaves like an array that loses its front, in any order of calls", arguments: [1, 2, 3] as [UInt64])
    func model(seed: UInt64) {
        var generator = SeededChance(seed)
        var queue = Queue<Int>()
        var model: [Int] = []
        for step in 0..<5_000 {
            let number = Int.random(in: 0...200, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0:
                queue.append(step)
                model.append(step)
            case 1:
                queue.append(contentsOf: Array(repeating: step, count: number))
                model += Array(repeating: step, count: number)
            case 2:
                let taken = queue.take(number)
                #expect(taken == Array(model.prefix(number)), "seed \(seed)")
                model.removeFirst(min(number, model.count))
            case 3:
                queue.removeFirst(number)
                model.removeFirst(min(number, model.count))
            default:
                let first = queue.popFirst()
                #expect(first == (model.isEmpty ? nil : model.removeFirst()), "seed \(seed)")
            }
            if !queue.isEmpty {
                queue[queue.count / 2] = -step
                model[model.count / 2] = -step
            }
            #expect(queue.elementsEqual(model), "seed \(seed)")
        }
    }

    @Test("releases taken elements, at the latest when they are half of all")
    func memory() {
        final class Load {}
        weak var first: Load?
        var queue = Queue<Load>()
        for _ in 0..<200 {
            let load = Load()
            if queue.isEmpty { first = load }
            queue.append(load)
        }
        queue.removeFirst(101)
        #expect(first == nil)
        #expect(queue.count == 99)
    }
}

@Suite("Outcomes")
struct OutcomesTests {
    @Test("arrive together with the last one, in order, and the first of two for one piece counts")
    func collected() async {
        let outcomes = await withCheckedContinuation { waiter in
            var outcomes = Outcomes<String>(count: 3)
            outcomes.begin(waiter)
            outcomes.settle(2, "c")
            outcomes.settle(0, "a")
            outcomes.settle(0, "other")
            #expect(outcomes.isOpen(1))
            outcomes.settle(1, "b")
            outcomes.settle(1, "late")
        }
        #expect(outcomes == ["a", "b", "c"])
    }

    @Test("that are complete before a caller waits are returned immediately")
    func early() async {
        let outcomes = await withCheckedContinuation { waiter in
            var outcomes = Outcomes<Int>(count: 1)
            outcomes.settle(0, 7)
            outcomes.begin(waiter)
        }
        #expect(outcomes == [7])
    }
}
