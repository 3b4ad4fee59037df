import Testing

@testable import Pipeline

@Suite("Groups of a batch")
struct PoisonMessageIsolationTests {
    @Test("messages with few deliveries form one group in their order")
    func usual() {
        #expect(PoisonMessageIsolation.groups(byDeliveryCount: []) == [])
        #expect(PoisonMessageIsolation.groups(byDeliveryCount: [0, 7, 1, 0]) == [[0, 1, 2, 3]])
    }

    @Test("suspects come last, in groups that get smaller with each delivery, until each is alone")
    func suspects() {
        #expect(PoisonMessageIsolation.groups(byDeliveryCount: [8, 0, 20, 9, 8]) == [[1], [0, 4], [3], [2]])
        let sizes = (8...20).map { count in
            PoisonMessageIsolation.groups(byDeliveryCount: Array(repeating: count, count: 256)).map(\.count).max()
        }
        #expect(sizes == [64, 32, 16, 8, 4, 2] + Array(repeating: 1, count: 7))
    }

    @Test("each message is in exactly one group, whatever its delivery count")
    func everybody() {
        let counts = [0, 8, 8, 9, 64, 65, 1_000, Int.max, 10, 9, 8, 7]
        let places = PoisonMessageIsolation.groups(byDeliveryCount: counts).flatMap { $0 }
        #expect(places.sorted() == Array(counts.indices))
        #expect(PoisonMessageIsolation.groups(byDeliveryCount: counts).last == [7])
    }
}
