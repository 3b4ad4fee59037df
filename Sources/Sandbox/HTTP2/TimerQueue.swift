/// Delayed elements, soonest first; elements with the same deadline keep their order.
///
/// It is a binary heap: adding and taking have logarithmic cost.
struct TimerQueue<Element> {
    private struct Entry {
        let deadline: ContinuousClock.Instant
        let number: UInt64
        let element: Element

        func precedes(_ other: Entry) -> Bool {
            deadline == other.deadline ? number < other.number : deadline < other.deadline
        }
    }

    private var heap: [Entry] = []
    private var added: UInt64 = 0

    var isEmpty: Bool { heap.isEmpty }
    var count: Int { heap.count }

    /// The earliest deadline.
    var nextDeadline: ContinuousClock.Instant? { heap.first?.deadline }

    mutating func add(_ element: Element, at deadline: ContinuousClock.Instant) {
        added += 1
        heap.append(Entry(deadline: deadline, number: added, element: element))
        var child = heap.count - 1
        while child > 0, heap[child].precedes(heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the earliest element if it is due.
    mutating func takeDue(_ now: ContinuousClock.Instant) -> Element? {
        guard let first = heap.first, first.deadline <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink()
        return first.element
    }

    private mutating func sink() {
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return }
            let right = left + 1
            let child = right < heap.count && heap[right].precedes(heap[left]) ? right : left
            guard heap[child].precedes(heap[parent]) else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
