import Testing

@testable import Operations

@Suite("Durations of requests")
struct RequestTimesTests {
    @Test("a quantile lies inside its bucket, and is nil without any value")
    func quantiles() {
        var buckets = Array(repeating: 0, count: 15)
        #expect(RequestTimes.quantile(0.5, buckets) == nil)
        for place in 3..<15 { buckets[place] = 100 }
        #expect(RequestTimes.quantile(0.5, buckets) == 7.5)
        #expect(RequestTimes.quantile(1, buckets) == 10)
        let endless = Array(repeating: 0, count: 14) + [5]
        #expect(RequestTimes.quantile(0.95, endless) == 30_000, "as much as is known")
    }
}
