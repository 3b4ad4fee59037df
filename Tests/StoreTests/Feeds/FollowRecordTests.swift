import BellhopRules
import TestSupport
import Testing
import Workbench

@testable import Store

@Suite("A follow, word by word")
struct FollowRecordTests {
    /// What is said of one follow, at its own second each.
    private static func heard(_ words: [(second: Int, word: String)]) throws -> FollowRecord {
        var record: FollowRecord?
        for (second, text) in words {
            let instant = Timestamp(clamping: Int64(second) * 1_000_000)
            var present = record ?? FollowRecord(at: instant)
            present.hear(try word(text), at: instant)
            record = present
        }
        return try #require(record)
    }

    /// As `follow.added "role":"owner"`.
    private static func word(_ text: String) throws -> FollowWord {
        let parts = text.split(separator: " ", maxSplits: 1)
        let more = parts.count > 1 ? "," + parts[1] : ""
        let json = #"{"app":"drop","eventType":"\#(parts[0])","userId":"u1","topic":"venue:1"\#(more)}"#
        let update = try Bench.update(json)
        let key = RecipientKey(app: update.app, user: update.change.user)
        switch update.change {
        case .followAdded(let follow): return FollowWord(added: follow, key)
        case .followRemoved(_, let topic, let token): return FollowWord(removed: topic, token, key)
        default: throw BenchError("no word about a follow: \(json)")
        }
    }

    /// Everything but when it began, which is told by the order in which the words came in.
    private static func state(_ record: FollowRecord) -> [String] {
        let times = [record.wholeSaidAt, record.roleSaidAt, record.mutedSaidAt, record.endSaidAt, record.removedAt]
        let parts = record.parts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return [
            "\(record.role?.text ?? "-")", "\(record.isMuted)", "\(record.devices ?? ["all"])", "\(times)",
            "\(record.saidAt)",
        ] + parts
    }

    static let stories: [[String]] = [
        ["follow.added", #"follow.added "role":"owner""#, #"follow.added "muted":true"#, #"follow.added "role":null"#],
        [
            #"follow.added "role":"owner""#, #"follow.added "muted":true"#, "follow.removed", "follow.added",
            #"follow.added "role":"observer""#,
        ],
        [
            #"follow.added "token":"a""#, #"follow.added "token":"b","muted":true"#, #"follow.removed "token":"a""#,
            "follow.removed", #"follow.added "token":"b""#, #"follow.removed "token":"b""#,
        ],
        [
            "follow.added", #"follow.added "token":"a","role":"owner""#, #"follow.removed "token":"a""#,
            #"follow.added "muted":false"#, "follow.removed", #"follow.added "token":"a""#,
        ],
    ]

    @Test("words that overtake one another end as they would have in order", arguments: stories)
    func anyOrder(story: [String]) throws {
        let words = story.enumerated().map { (second: $0.offset + 1, word: $0.element) }
        let expected = Self.state(try Self.heard(words))
        for order in Self.permutations(of: words.count) {
            let found = Self.state(try Self.heard(order.map { words[$0] }))
            #expect(found == expected, "\(order)")
        }
    }

    static func permutations(of count: Int) -> [[Int]] {
        guard count > 0 else { return [[]] }
        return permutations(of: count - 1).flatMap { shorter in
            (0..<count).map { place in
                var longer = shorter
                longer.insert(count - 1, at: place)
                return longer
            }
        }
    }

    @Test("of two words of one time the one that is heard last counts")
    func sameTime() throws {
        let begun = try Self.heard([(1, "follow.removed"), (1, "follow.added")])
        #expect(begun.removedAt == nil)
        let ended = try Self.heard([(1, "follow.added"), (1, "follow.removed")])
        #expect(ended.removedAt != nil)
    }

    @Test("who follows again begins anew: neither the role nor the mute of before is there")
    func anew() throws {
        let words = [(1, #"follow.added "role":"owner","muted":true"#), (2, "follow.removed"), (3, "follow.added")]
        let record = try Self.heard(words)
        #expect(record.removedAt == nil)
        #expect(record.role == nil && !record.isMuted)
        #expect(record.since == Timestamp(clamping: 3_000_000))
    }

    @Test("the part of one device ends alone, and with the last part the follow")
    func parts() throws {
        let two = [(1, #"follow.added "token":"a""#), (2, #"follow.added "token":"b""#)]
        #expect(try Self.heard(two).devices?.count == 2)
        let one = two + [(3, #"follow.removed "token":"a""#)]
        let left = try Self.heard(one)
        #expect(left.devices?.count == 1)
        #expect(left.removedAt == nil)
        let none = try Self.heard(one + [(4, #"follow.removed "token":"b""#)])
        #expect(none.devices == [])
        #expect(none.removedAt == Timestamp(clamping: 4_000_000))
    }

    @Test("with all devices is with all devices, whatever is said of one")
    func whole() throws {
        let words = [(1, "follow.added"), (2, #"follow.added "token":"a""#), (3, #"follow.removed "token":"a""#)]
        let record = try Self.heard(words)
        #expect(record.devices == nil)
        #expect(record.removedAt == nil)
    }

    @Test("devices that nobody speaks of any more do not pile up")
    func bounded() throws {
        let words = (1...100).map { (second: $0, word: #"follow.added "token":"t\#($0)""#) }
        let record = try Self.heard(words)
        #expect(record.parts.count == 2 * SubscriptionFeed.mostDevices)
        #expect(record.parts.values.map(\.saidAt).min() == Timestamp(clamping: 61_000_000))
    }
}
