import API
import Testing

@Suite("Rate limits")
struct RateLimiterTests {
    private let start = ContinuousClock.now

    @Test("a caller may make one second's calls together, then one per interval, independently of other callers")
    func pace() throws {
        let limiter = RateLimiter<String>(perSecond: 10)
        let first = (0..<10).map { _ in limiter.wait(for: "ada", at: start) }
        let isFree = first.allSatisfy { $0 == nil }
        #expect(isFree)
        #expect(limiter.wait(for: "ada", at: start) == .milliseconds(100))
        #expect(limiter.wait(for: "bob", at: start) == nil)
        #expect(limiter.wait(for: "ada", at: start + .milliseconds(50)) == .milliseconds(50))
        #expect(limiter.wait(for: "ada", at: start + .milliseconds(100)) == nil)
        #expect(limiter.wait(for: "ada", at: start + .milliseconds(100)) != nil)
    }

    @Test("a burst is followed by one call per interval, and a bucket that is not full is kept")
    func burst() {
        let limiter = RateLimiter<Int>(burst: 2, every: .seconds(5), capacity: 2)
        let first = (0..<3).map { _ in limiter.wait(for: 1, at: start) }
        #expect(first == [nil, nil, .seconds(5)])
        #expect(limiter.wait(for: 1, at: start + .seconds(4)) == .seconds(1))
        _ = limiter.wait(for: 2, at: start - .seconds(20))
        _ = limiter.wait(for: 3, at: start + .seconds(4))
        #expect(limiter.wait(for: 1, at: start + .seconds(4)) != nil)
        #expect(limiter.wait(for: 1, at: start + .seconds(5)) == nil)
    }

    @Test("the number of remembered callers is bounded, and the callers that were idle longest are forgotten first")
    func bounded() {
        let limiter = RateLimiter<Int>(perSecond: 1, capacity: 100)
        for caller in 0..<99 { _ = limiter.wait(for: caller, at: start) }
        _ = limiter.wait(for: 99, at: start + .milliseconds(900))
        _ = limiter.wait(for: 100, at: start + .milliseconds(1_100))
        #expect(limiter.wait(for: 99, at: start + .milliseconds(1_100)) != nil)
    }
}
