import BellhopJSON
import TestSupport
import Testing
import IntegrationSupport

extension BrowserTests {
    /// The difference between a notification that was on a screen and one that a person has read.
    @Suite("Seen and read")
    struct SeenTests {
        private static func count(_ condition: String, _ user: String, on stage: InboxStage) async throws -> Int {
            try await stage.api.servers.count(
                "SELECT count(*) FROM notifications WHERE user_id = '\(user)' AND \(condition)"
            )
        }

        /// An input that shows that a person is at the page.
        private static let touch = "dispatchEvent(new PointerEvent('pointermove'))"

        @Test("what is shown is seen and clears the bell; only a longer look reads it, and never if it is important")
        func seen() async throws {
            try await InboxStage.with { stage in
                let type = "scheduled_match_new"
                // The language that a user has set outranks the browser's.
                let swedish = #"{"locale":"sv"}"#
                let set = try await stage.api.call("PATCH", "/api/settings", swedish, as: "bo", app: "padel")
                #expect(set.status == 200)
                try await stage.api.notify(1, for: "bo", app: "padel", type: type)
                try await stage.api.notify(2, for: "bo", app: "padel", type: type, priority: "high")
                try await stage.browser.go(to: "\(stage.origin)/host")
                try await stage.ask("inbox.token = arguments[0]", .string(try stage.api.token("bo", app: "padel")))
                try await stage.until("$('[part=bell]').ariaLabel === '2 nya notiser' && !$('[part=badge]').hidden")
                try await stage.click("[part=bell]")
                try await stage.until("$('[part=bell]').ariaLabel === '0 nya notiser' && $('[part=badge]').hidden")
                try await eventually("the server stores it") {
                    try await Self.count("seen_at IS NOT NULL", "bo", on: stage) == 2
                }
                #expect(try await Self.count("read_at IS NULL", "bo", on: stage) == 2)
                let unread = try await stage.ask("[inbox.unreadCount, inbox.unseenCount]")
                #expect(unread == [0, 0], "the catalogue has no badge")
                try await stage.ask("(BellhopInbox.reading = 0, \(Self.touch), inbox.list.markSoon(), true)")
                try await eventually("the long look reads one") {
                    try await Self.count("read_at IS NOT NULL", "bo", on: stage) == 1
                }
                let important = "read_at IS NULL AND priority = 'high'"
                #expect(try await Self.count(important, "bo", on: stage) == 1)
                // A press reads it.
                try await stage.ask("(addEventListener('bellhop-open', (event) => event.preventDefault()), true)")
                try await stage.click(".high")
                try await eventually("the press reads the other") {
                    try await Self.count("read_at IS NOT NULL", "bo", on: stage) == 2
                }
            }
        }

        @Test("an unattended page marks nothing as read, in an app that marks at sight, until a user returns")
        func untouched() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.prepared(by: "document.hasFocus = () => Boolean(window.__hasFocus);") {
                    try await stage.open()
                    try await eventually("it is seen") {
                        try await Self.count("seen_at IS NOT NULL AND read_at IS NULL", "ada", on: stage) == 3
                    }
                    try await stage.until("$('[part=bell]').ariaLabel === '3 uleste varsler'")
                    // The focus alone does not prove a person: there was no input for half a minute.
                    try await stage.ask("(inbox.attention.last = -Infinity, (window.__hasFocus = true), true)")
                    let state = try await stage.ask("[inbox.list.actions.isLooking(), inbox.unreadCount]")
                    #expect(state == [false, 3])
                    try await stage.ask("(\(Self.touch), true)")
                    try await stage.until("$('[part=bell]').ariaLabel === '0 uleste varsler'")
                    try await eventually("it is read") {
                        try await Self.count("read_at IS NULL", "ada", on: stage) == 0
                    }
                }
            }
        }

        @Test("a page in the background learns the number, without a stream")
        func background() async throws {
            try await InboxStage.with { stage in
                let hidden = """
                    Object.defineProperty(Document.prototype, "hidden", { get: () => Boolean(window.__hidden) });
                    """
                try await stage.prepared(by: hidden + InboxStage.unseen) {
                    try await stage.open()
                    let hide = """
                        ((window.__hidden = true), (inbox.live.timing.longest = 50),
                        document.dispatchEvent(new Event("visibilitychange")), true)
                        """
                    try await stage.ask(hide)
                    try await stage.deliver(1, InboxStage.Letter())
                    try await stage.until("document.title === '(1) Varsler'")
                }
            }
        }
    }
}
