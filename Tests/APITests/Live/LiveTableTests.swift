import BellhopRules
import ServiceRuntime
import Settings
import Store
import Testing

@testable import API

@Suite("The table of streams")
struct LiveTableTests {
    private let start = ContinuousClock.now
    private let date = Timestamp(clamping: 1_800_000_000_000_000)
    private let keys = TrustedIssuers([]).mark

    private func reader(_ user: String) throws -> UserKey {
        UserKey(app: try #require(AppID(validating: "drop")), user: try #require(UserID(validating: user)))
    }

    /// Adds a stream with room for two pieces.
    private func add(_ user: String, to streams: inout LiveStreams) throws -> AsyncStream<[UInt8]> {
        let (stream, out) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingOldest(2))
        let until = Timestamp(clamping: date.microseconds + 3_600_000_000)
        let hold = StreamLifetime(until: until, keys: keys)
        let added = streams.add(out, of: try reader(user), .withNothing, hold, LiveLimits(), at: start)
        _ = try added.get()
        return stream
    }

    private func moment(_ seconds: Int, keys: TrustedIssuers.Mark? = nil, late: Int64 = 0) -> LiveStreams.Moment {
        let date = Timestamp(clamping: date.microseconds + late * 1_000_000)
        return LiveStreams.Moment(steady: start + .seconds(seconds), date: date, keys: keys ?? self.keys)
    }

    @Test("a silent stream gets heartbeats, and a client that reads none of them is too slow")
    func heartbeats() throws {
        var streams = LiveStreams()
        let kept = try add("ada", to: &streams)
        let pace = StreamIntervals()
        let early = streams.tick(pace, at: moment(14))
        #expect(early.isEmpty)
        for beat in 1...2 {
            let tick = streams.tick(pace, at: moment(15 * beat))
            #expect(tick.isEmpty)
        }
        let late = streams.tick(pace, at: moment(45))
        #expect(late[.slow]?.count == 1)
        _ = kept
    }

    @Test("a user is queued once, whatever the number of streams and announcements")
    func queue() throws {
        var streams = LiveStreams()
        let kept = [try add("ada", to: &streams), try add("ada", to: &streams), try add("bob", to: &streams)]
        let ada = try reader("ada")
        streams.enqueue([UserHash(ada), UserHash(ada)])
        let bob = try reader("bob")
        #expect(streams.takeQueue().readers == [ada, bob])
        #expect(streams.takeQueue().readers.isEmpty)
        streams.enqueue([UserHash(try reader("eva"))])
        #expect(!streams.hasQueue)
        _ = kept
    }

    @Test("a stream ends when its token expires")
    func expiry() throws {
        var streams = LiveStreams()
        let kept = try add("ada", to: &streams)
        let tick = streams.tick(StreamIntervals(), at: moment(0, late: 3_600))
        #expect(tick[.expired]?.count == 1)
        _ = kept
    }

    @Test("streams that were opened under a previous key set end gradually, within ten seconds")
    func otherKeys() throws {
        var streams = LiveStreams()
        let kept = try (1...200).map { try add("user\($0)", to: &streams) }
        let other = TrustedIssuers([]).mark
        var ended: [Int] = []
        for second in 0...10 {
            let ending = streams.tick(StreamIntervals(), at: moment(second, keys: other))[.keys] ?? []
            for stream in ending { streams.remove(stream.number, of: stream.reader) }
            ended.append(ending.count)
        }
        #expect(ended.reduce(0, +) == kept.count)
        let most = ended.max() ?? 0
        #expect(most < 100)
        #expect(streams.count == 0)
    }

    @Test("streams that were opened together are reviewed at different times if nothing happens")
    func reviews() throws {
        var streams = LiveStreams()
        let kept = try (1...200).map { try add("user\($0)", to: &streams) }
        _ = streams.takeQueue()
        var pace = StreamIntervals()
        pace.heartbeat = .seconds(100_000)
        _ = streams.tick(pace, at: moment(224))
        #expect(!streams.hasQueue)
        _ = streams.tick(pace, at: moment(300))
        let early = streams.takeQueue().readers.count
        #expect((50...150).contains(early))
        _ = streams.tick(pace, at: moment(375))
        #expect(streams.takeQueue().readers.count == kept.count)
    }

    @Test("an announced user is checked before all others, and no user is checked twice")
    func ranks() throws {
        let readers = try (1...300).map { try reader("user\($0)") }
        var queue = InboxPollQueue()
        for reader in readers { queue.add(reader, .whenQuiet) }
        queue.add(readers[299], .soon)
        queue.add(readers[299], .whenQuiet)
        let first = queue.take()
        #expect(first.readers == [readers[299]])
        #expect(first.rank == .soon)
        let few = queue.take().readers
        #expect(few.count < readers.count)
        queue.add(readers[298], .soon)
        #expect(queue.take().readers == [readers[298]])
        let rest = queue.take().readers
        #expect(few + rest == Array(readers.dropLast(2)))
        #expect(queue.isEmpty)
    }

    @Test("streams never use all connections of a server", arguments: [1, 2, 100, 8_000, 16_384, 100_000])
    func room(connections: Int) {
        let limits = LiveLimits(connections: connections)
        #expect(limits.process <= connections - max(1, connections / 4))
        #expect(LiveLimits().process < ConnectionLimits.usual.total)
    }
}
