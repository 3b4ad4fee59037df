import BellhopRules
import Testing

@testable import Store

@Suite("Inbox differences")
struct InboxDifferenceTests {
    private static let start: Int64 = 1_800_000_000_000_000

    /// Returns a row that arrived `second` seconds after the start.
    private func row(_ second: Int, isRead: Bool = false, isSeen: Bool = false) -> InboxSnapshot.Row {
        let listedAt = Timestamp(clamping: Self.start + Int64(second) * 1_000_000)
        let place = InboxPosition(listedAt: listedAt, id: NotificationID(number: Int64(second)))
        return InboxSnapshot.Row(place: place, isRead: isRead, isSeen: isSeen)
    }

    /// Returns a snapshot with the newest row first, taken when the last row arrived.
    private func glimpse(_ rows: [InboxSnapshot.Row], deeper: Int = 0) -> InboxSnapshot {
        let rows = Array(rows.reversed())
        return InboxSnapshot(
            rows: Array(rows.prefix(InboxSnapshot.reach)),
            unread: rows.count { !$0.isRead } + deeper,
            wakesAt: nil,
            takenAt: rows.first?.place.listedAt ?? Timestamp(clamping: Self.start)
        )
    }

    private func id(_ second: Int) -> NotificationID { NotificationID(number: Int64(second)) }

    @Test("a difference lists only the arrivals, the oldest first")
    func arrivals() {
        let before = glimpse([row(1), row(2)])
        let difference = InboxDifference(from: before, to: glimpse([row(1), row(2), row(3), row(4)]))
        #expect(difference.arrived == [id(3), id(4)])
        #expect(difference.hasNoMarks)
        #expect(!difference.reachesDeeper)
        let same = InboxDifference(from: before, to: before)
        #expect(same.isEmpty)
    }

    @Test("a row that was written slowly appears below newer ones and still counts as an arrival")
    func late() {
        let difference = InboxDifference(from: glimpse([row(1), row(9)]), to: glimpse([row(1), row(8), row(9)]))
        #expect(difference.arrived == [id(8)])
        #expect(difference.returned.isEmpty)
    }

    @Test("rows of types that do not count change no count and hide no change below the snapshot")
    func uncounted() {
        let place = { (second: Int) in self.row(second).place }
        let silent = { (isRead: Bool) in
            InboxSnapshot.Row(place: place(2), isRead: isRead, isSeen: false, isCounted: false)
        }
        let before = InboxSnapshot(rows: [silent(false), row(1)], unread: 1, wakesAt: nil, takenAt: place(2).listedAt)
        let read = InboxSnapshot(rows: [silent(true), row(1)], unread: 1, wakesAt: nil, takenAt: place(2).listedAt)
        let difference = InboxDifference(from: before, to: read)
        #expect(difference.read == [id(2)])
        #expect(!difference.reachesDeeper)
        #expect(before.before([id(2)]).unread == 1)
        let deeper = InboxSnapshot(rows: [silent(true), row(1)], unread: 0, wakesAt: nil, takenAt: place(2).listedAt)
        #expect(InboxDifference(from: before, to: deeper).reachesDeeper)
    }

    @Test("a cursor carries the state of the settings, and an older one carries none")
    func settingsInCursor() throws {
        let print = SettingsPrint(hash: 0x7FFF_0000_0012_3456)
        let rows = (1...50).map { row($0) }.reversed()
        let snapshot = InboxSnapshot(
            rows: Array(rows),
            unread: 10_000,
            wakesAt: nil,
            takenAt: row(50).place.listedAt,
            settings: print
        )
        let cursor = try #require(InboxCursor(InboxCursor(snapshot).text))
        #expect(cursor == InboxCursor(snapshot))
        #expect(cursor.settings == print && cursor.gap(to: snapshot) == .nothing)
        let older = try #require(InboxCursor(InboxCursor(glimpse([row(1)])).text))
        #expect(older.settings == nil)
        #expect(SettingsPrint(hash: 0) == SettingsPrint(hash: 1), "no fingerprint is empty")
    }

    @Test("an old row that was absent has returned")
    func returned() {
        let difference = InboxDifference(from: glimpse([row(500)]), to: glimpse([row(1), row(500)]))
        #expect(difference.returned == [id(1)])
        #expect(difference.arrived.isEmpty)
    }

    @Test("a changed mark is reported as its current value")
    func marks() {
        let before = glimpse([row(1), row(2, isRead: true, isSeen: true), row(3), row(4)])
        let after = glimpse([row(1, isRead: true, isSeen: true), row(2, isSeen: true), row(3, isSeen: true)])
        let difference = InboxDifference(from: before, to: after)
        #expect(difference.read == [id(1)])
        #expect(difference.unread == [id(2)])
        #expect(difference.seen == [id(3)])
        #expect(difference.gone == [id(4)])
        #expect(!difference.reachesDeeper)
    }

    @Test("rows that newer ones push beyond the window have not gone, and rows that move into it have not arrived")
    func edges() {
        let many = (1...InboxSnapshot.reach).map { row($0) }
        let grown = InboxDifference(from: glimpse(many), to: glimpse(many + [row(101), row(102)]))
        #expect(grown.arrived == [id(101), id(102)])
        #expect(grown.gone.isEmpty)
        let full = glimpse(many + [row(101), row(102)])
        let shrunk = InboxDifference(from: full, to: glimpse(many))
        #expect(shrunk.gone == [id(102), id(101)])
        #expect(shrunk.arrived.isEmpty && shrunk.returned.isEmpty)
    }

    @Test("a count that falls by more than the visible changes means that a deeper row was read")
    func deeper() {
        let rows = [row(1), row(2)]
        let fallen = InboxDifference(from: glimpse(rows, deeper: 5), to: glimpse(rows, deeper: 2))
        #expect(fallen.reachesDeeper)
        let risen = InboxDifference(from: glimpse(rows, deeper: 2), to: glimpse(rows, deeper: 5))
        #expect(!risen.reachesDeeper)
        #expect(!risen.isEmpty)
    }

    // MARK: - Cursors

    @Test("a cursor reports exactly the later arrivals")
    func cursor() throws {
        let before = glimpse([row(1), row(2)])
        let cursor = try #require(InboxCursor(InboxCursor(before).text))
        #expect(cursor == InboxCursor(before))
        #expect(cursor.gap(to: before) == .nothing)
        #expect(cursor.gap(to: glimpse([row(1), row(2), row(3), row(4)])) == .arrived([id(3), id(4)]))
        #expect(cursor.gap(to: glimpse([row(1), row(2)], deeper: 1)) == .badge)
    }

    @Test("a complete cursor detects a row that appears below its rows, and a partial cursor ignores it")
    func below() throws {
        let whole = try #require(InboxCursor(InboxCursor(glimpse([row(2), row(3)])).text))
        #expect(whole.gap(to: glimpse([row(1), row(2), row(3)])) == .unclear)
        #expect(whole.gap(to: glimpse([row(1), row(2), row(3), row(4)])) == .unclear)
        #expect(whole.gap(to: glimpse([row(2), row(3), row(4)])) == .arrived([id(4)]))
        let many = (2...150).map { row($0) }
        let part = try #require(InboxCursor(InboxCursor(glimpse(many)).text))
        #expect(part.gap(to: glimpse([row(1, isRead: true)] + many)) == .nothing)
    }

    @Test("the cursor of an empty inbox reports every row as new")
    func empty() throws {
        let cursor = try #require(InboxCursor(InboxCursor(glimpse([])).text))
        #expect(cursor.gap(to: glimpse([])) == .nothing)
        #expect(cursor.gap(to: glimpse([row(1)])) == .arrived([id(1)]))
    }

    @Test("a change other than an arrival, or too many arrivals, is unclear to a cursor")
    func unclear() {
        let cursor = InboxCursor(glimpse([row(1), row(5)]))
        #expect(cursor.gap(to: glimpse([row(1), row(5, isRead: true)])) == .unclear)
        #expect(cursor.gap(to: glimpse([row(5)])) == .unclear)
        #expect(cursor.gap(to: glimpse([row(1), row(4), row(5)])) == .unclear)
        let many = (1...70).map { row($0) }
        #expect(InboxCursor(glimpse([row(1)])).gap(to: glimpse(many)) == .unclear)
        let few = (1...150).map { row($0) }
        let deep = InboxCursor(glimpse(Array(few.prefix(100))))
        #expect(deep.gap(to: glimpse(few)) == .arrived((101...150).map { id($0) }))
    }

    @Test(
        "text that is not a cursor is rejected",
        arguments: ["", "x", String(repeating: "A", count: 42), "noti_0000000000000001"]
    )
    func foreign(text: String) {
        #expect(InboxCursor(text) == nil)
    }

    @Test("a cursor with impossible contents is rejected")
    func forged() {
        let claims = String(repeating: "A", count: 32) + "_________88"
        #expect(InboxCursor(claims) == nil)
    }

    // MARK: - Signs

    @Test("thousands of signs fit into payloads and are read back unchanged")
    func signs() throws {
        let app = try #require(AppID(validating: "drop"))
        let users = try (0..<2_500).map { try #require(UserID(validating: "u\($0)")) }
        let signs = users.map { UserHash(UserKey(app: app, user: $0)) }
        let payloads = UserHash.payloads(signs)
        #expect(payloads.count == 3)
        #expect(payloads.allSatisfy { $0.utf8.count < 8_000 })
        let read = payloads.compactMap(UserHash.read).flatMap { $0 }
        #expect(read == signs)
    }

    @Test("foreign payloads are ignored", arguments: ["", "*", "AAAAAAA", "AAAAAAA!", "AAAAAAAAA"])
    func foreignPayload(text: String) {
        #expect(UserHash.read(text) == nil)
    }
}
