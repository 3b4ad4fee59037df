import Testing

@testable import Pipeline

@Suite("Who goes together")
struct CompanyTests {
    @Test("what was handed out seldom goes together, as it came")
    func usual() {
        #expect(Company.of([]) == [])
        #expect(Company.of([0, 7, 1, 0]) == [[0, 1, 2, 3]])
    }

    @Test("suspects go last and in company that gets smaller with each delivery, until they go alone")
    func suspects() {
        #expect(Company.of([8, 0, 20, 9, 8]) == [[1], [0, 4], [3], [2]])
        let sizes = (8...20).map { count in Company.of(Array(repeating: count, count: 256)).map(\.count).max() }
        #expect(sizes == [64, 32, 16, 8, 4, 2] + Array(repeating: 1, count: 7))
    }

    @Test("everybody is there once, whatever the broker says of them")
    func everybody() {
        let counts = [0, 8, 8, 9, 64, 65, 1_000, Int.max, 10, 9, 8, 7]
        let places = Company.of(counts).flatMap { $0 }
        #expect(places.sorted() == Array(counts.indices))
        #expect(Company.of(counts).last == [7])
    }
}
