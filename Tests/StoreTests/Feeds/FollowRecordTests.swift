import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("Follow records")
struct FollowRecordTests {
    /// Returns the record of one follow after messages with individual seconds.
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

    /// Parses a message such as `follow.added "role":"owner"`; `client ` before it makes it the user's own.
    private static func word(_ said: String) throws -> FollowUpdateRow {
        let isFromClient = said.hasPrefix("client ")
        let text = isFromClient ? String(said.dropFirst(7)) : said
        let parts = text.split(separator: " ", maxSplits: 1)
        let more = parts.count > 1 ? "," + parts[1] : ""
        let json = #"{"app":"drop","eventType":"\#(parts[0])","userId":"u1","topic":"venue:1"\#(more)}"#
        let update = try ServerFixture.update(json)
        let key = UserKey(app: update.app, user: update.change.user)
        switch update.change {
        case .followAdded(let follow): return FollowUpdateRow(added: follow, key)
        case .followRemoved(_, let topic, let token):
            return FollowUpdateRow(removed: topic, token, key, isFromClient: isFromClient)
        default: throw ServerFixtureError("no message about a follow: \(json)")
        }
    }

    /// Returns everything except the start, which depends on the order of arrival.
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
        [
            #"follow.added "role":"owner""#, "client follow.removed", #"follow.added "role":"observer""#,
            "client follow.removed", "client follow.added",
        ],
    ]

    @Test("messages in any order give the result of the correct order", arguments: stories)
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

    @Test("the message that arrives last wins if two have the same time")
    func sameTime() throws {
        let begun = try Self.heard([(1, "follow.removed"), (1, "follow.added")])
        #expect(begun.removedAt == nil)
        let ended = try Self.heard([(1, "follow.added"), (1, "follow.removed")])
        #expect(ended.removedAt != nil)
    }

    @Test("a new follow starts without the former role and mute")
    func anew() throws {
        let words = [(1, #"follow.added "role":"owner","muted":true"#), (2, "follow.removed"), (3, "follow.added")]
        let record = try Self.heard(words)
        #expect(record.removedAt == nil)
        #expect(record.role == nil && !record.isMuted)
        #expect(record.since == Timestamp(clamping: 3_000_000))
    }

    @Test("a role survives the user's unfollow, and ends when the app's servers end the follow")
    func toggled() throws {
        let owner = (1, #"follow.added "role":"owner","muted":true"#)
        let left = try Self.heard([owner, (2, "client follow.removed")])
        #expect(left.removedAt != nil)
        let back = try Self.heard([owner, (2, "client follow.removed"), (3, "client follow.added")])
        #expect(back.removedAt == nil && back.role?.text == "owner" && !back.isMuted)
        let ended = try Self.heard([
            owner, (2, "client follow.removed"), (3, "follow.removed"), (4, "client follow.added"),
        ])
        #expect(ended.removedAt == nil && ended.role == nil)
        let changed = [
            owner, (2, "client follow.removed"), (3, #"follow.added "role":null"#), (4, "client follow.removed"),
        ]
        #expect(try Self.heard(changed + [(5, "client follow.added")]).role == nil)
    }

    @Test("the part of one device ends alone, and the follow ends with its last part")
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

    @Test("a follow with all devices stays complete, whatever messages name one device")
    func whole() throws {
        let words = [(1, "follow.added"), (2, #"follow.added "token":"a""#), (3, #"follow.removed "token":"a""#)]
        let record = try Self.heard(words)
        #expect(record.devices == nil)
        #expect(record.removedAt == nil)
    }

    @Test("parts of devices that no message names any longer are limited in number")
    func bounded() throws {
        let words = (1...100).map { (second: $0, word: #"follow.added "token":"t\#($0)""#) }
        let record = try Self.heard(words)
        #expect(record.parts.count == 2 * SubscriptionFeed.mostDevices)
        #expect(record.parts.values.map(\.saidAt).min() == Timestamp(clamping: 61_000_000))
    }
}
