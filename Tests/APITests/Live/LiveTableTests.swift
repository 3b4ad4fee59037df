import BellhopRules
import ServiceRuntime
import Store
import Testing

@testable import API

@Suite("The table of streams")
struct LiveTableTests {
    private let start = ContinuousClock.now
    private let date = Timestamp(clamping: 1_800_000_000_000_000)

    private func reader(_ user: String) throws -> RecipientKey {
        RecipientKey(app: try #require(AppID(validating: "drop")), user: try #require(UserID(validating: user)))
    }

    /// Adds a stream with room for two pieces.
    private func add(_ user: String, to streams: inout LiveStreams) throws -> AsyncStream<[UInt8]> {
        let (stream, out) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingOldest(2))
        let until = Timestamp(clamping: date.microseconds + 3_600_000_000)
        let added = streams.add(out, of: try reader(user), .withNothing, until: until, LiveLimits(), at: start)
        _ = try added.get()
        return stream
    }

    @Test("a heartbeat comes when nothing was said for long, and a reader who takes none of them is too slow")
    func heartbeats() throws {
        var streams = LiveStreams()
        let kept = try add("ada", to: &streams)
        let pace = LivePace()
        let early = streams.tick(pace, at: start + .seconds(14), date: date)
        #expect(early.slow.isEmpty && early.expired.isEmpty)
        for beat in 1...2 {
            let tick = streams.tick(pace, at: start + .seconds(15 * beat), date: date)
            #expect(tick.slow.isEmpty)
        }
        let late = streams.tick(pace, at: start + .seconds(45), date: date)
        #expect(late.slow.count == 1)
        _ = kept
    }

    @Test("one user is queued once, however many streams and announcements there are")
    func queue() throws {
        var streams = LiveStreams()
        let kept = [try add("ada", to: &streams), try add("ada", to: &streams), try add("bob", to: &streams)]
        let ada = try reader("ada")
        streams.enqueue([InboxSign(ada), InboxSign(ada)])
        #expect(streams.takeQueue() == [ada, try reader("bob")])
        #expect(streams.takeQueue().isEmpty)
        streams.enqueue([InboxSign(try reader("eva"))])
        #expect(!streams.hasQueue)
        _ = kept
    }

    @Test("a token that ends takes its stream with it")
    func expiry() throws {
        var streams = LiveStreams()
        let kept = try add("ada", to: &streams)
        let late = Timestamp(clamping: date.microseconds + 3_600_000_000)
        let tick = streams.tick(LivePace(), at: start, date: late)
        #expect(tick.expired.count == 1)
        _ = kept
    }
}
