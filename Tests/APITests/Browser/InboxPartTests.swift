import BellhopJSON
import Foundation
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    /// The parts of the notification centre.
    ///
    /// Some tests replace the server, in order to control the time of each event.
    @Suite("The parts of the notification centre")
    struct InboxPartTests {
        private static let streams = """
            (async () => {
              const waits = [];
              let [now, span] = [0, 0];
              const client = { fetch: async () => ((now += span), new Response("retry: 4000\\n\\n")) };
              const handler = { event() {}, catchUp() {}, failed() {}, connected() {}, since: () => "1" };
              const live = new inbox.live.constructor(client, handler, { now: () => now });
              live.pause = async (wait) => {
                waits.push(wait);
                if (waits.length === 6) span = 31_000;
                if (waits.length === 8) live.stop();
              };
              await live.run();
              return waits;
            })()
            """

        @Test("a stream that the server closes immediately reconnects at growing intervals, from its retry time on")
        func waits() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                let waits = try await stage.ask(Self.streams).array ?? []
                let usual: [Double] = [4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 4_000, 4_000]
                #expect(waits.count == usual.count)
                for (wait, usual) in zip(waits, usual) {
                    let wait = wait.number?.double ?? 0
                    let range = usual * 0.5...usual * 1.5
                    #expect(range.contains(wait), "\(usual)")
                }
            }
        }

        /// Builders of the lists' items.
        ///
        /// A higher number means a later notification.
        private static let material = """
            const at = (number) => new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString();
            const item = (number, createdAt = at(number)) => ({ id: `n${number}`, createdAt, read: false, priority: "normal" });
            const page = (items, next) => ({ data: items, pinned: [], unreadCount: items.length, next, lastEventId: "e" });
            const Model = document.querySelector("bellhop-inbox").model.constructor;
            const make = (list, isBelow) => new Model({ list }, () => {}, isBelow);
            """

        private static func model(_ work: String, on stage: InboxStage) async throws -> JSONValue {
            try await stage.browser.go(to: "\(stage.origin)/host")
            return try await stage.browser.run("\(material) return (async () => { \(work) })();")
        }

        @Test("notifications that arrive while a page loads stay in the list, and so does their unread count")
        func burst() async throws {
            try await InboxStage.with { stage in
                let work = """
                    let held = [item(2), item(1)];
                    const model = make(async () => {
                      const answer = page(held, null);
                      const next = item(held.length + 1);
                      held = [next, ...held];
                      model.arrive(next, held.length);
                      return answer;
                    });
                    await model.load();
                    return [model.order, model.unread];
                    """
                let found = try await Self.model(work, on: stage)
                #expect(found == [["n5", "n4", "n3", "n2", "n1"], 5])
            }
        }

        @Test("older notifications stay when the first page loads again, at equal times and after a snooze has ended")
        func older() async throws {
            try await InboxStage.with { stage in
                let work = """
                    const all = [9, 8, 7, 6, 5].map((number) => item(number, at(0)));
                    let first = page(all.slice(0, 3), "rest");
                    const model = make(async ({ before }) => (before === "rest" ? page(all.slice(3), null) : first));
                    const orders = [];
                    const load = async () => (await model.load(), orders.push([model.order.join(" "), model.next]));
                    await model.load();
                    await model.more();
                    await load();
                    // The last one has slept, and stands on top.
                    first = page([all[4], all[0], all[1]], "after n8");
                    await load();
                    // It has slept, and what came since has pushed it to the end of the page: what stood before it is
                    // asked for again.
                    first = page([item(10), all[0], all[3]], "after n6");
                    await load();
                    return orders;
                    """
                let found = try await Self.model(work, on: stage)
                let expected: JSONValue = [
                    ["n9 n8 n7 n6 n5", .null], ["n5 n9 n8 n7 n6", .null], ["n10 n9 n6", "after n6"],
                ]
                #expect(found == expected)
            }
        }

        @Test("a notification that arrives or wakes on an open page moves to the top, even if it is already listed")
        func onTop() async throws {
            try await InboxStage.with { stage in
                let work = """
                    const model = make(async () => page([item(9), item(8)], null));
                    await model.load();
                    model.arrive(item(10), 3);
                    model.arrive(item(3), 4);
                    model.arrive(item(8), 4);
                    return model.order;
                    """
                let found = try await Self.model(work, on: stage)
                #expect(found == ["n8", "n3", "n10", "n9"])
            }
        }

        @Test("a page that stays open for weeks keeps at most 300 notifications, unless the user reads older ones")
        func bounded() async throws {
            try await InboxStage.with { stage in
                let work = """
                    const lengths = [];
                    for (const isBelow of [false, true]) {
                      const held = [];
                      const come = (number) => held.unshift(item(number)) && held[0];
                      const model = make(async () => page(held.slice(0, 30), "older"), () => isBelow);
                      for (let number = 1; number <= 30; number += 1) come(number);
                      await model.load();
                      for (let number = 31; number <= 301; number += 1) model.arrive(come(number), number);
                      await model.loading;
                      lengths.push([model.order.length, model.items.size, model.next]);
                    }
                    return lengths;
                    """
                let found = try await Self.model(work, on: stage)
                #expect(found == [[30, 30, "older"], [301, 301, "older"]])
            }
        }

        /// Records the authorization headers of all requests, the token renewals, and the requests to sign in.
        private static let counting = """
            window.__seen = { authorizations: [], renewals: 0, wishes: 0 };
            const plain = window.fetch;
            window.fetch = (address, options) => {
              __seen.authorizations.push(options?.headers?.Authorization);
              return plain(address, options);
            };
            """

        @Test("an expired token is renewed once, and without a new token no further request is sent")
        func ended() async throws {
            try await InboxStage.with { stage in
                try await stage.prepared(by: Self.counting) {
                    try await stage.browser.go(to: "\(stage.origin)/host")
                    let begin = """
                        ((inbox.renewToken = async () => ((__seen.renewals += 1), null)),
                        inbox.addEventListener("bellhop-sign-in", () => (__seen.wishes += 1)),
                        (inbox.token = arguments[0]), true)
                        """
                    let ended = try stage.api.token("ada", holds: .seconds(-600))
                    try await stage.ask(begin, .string(ended))
                    try await stage.until("__seen.wishes === 1 && inbox.status === 'signed-out'")
                    let jolt = """
                        (Object.defineProperty(navigator, "onLine", { get: () => window.__onLine }),
                        [false, true].forEach((isOn) => ((window.__onLine = isOn), dispatchEvent(new Event(isOn ? "online" : "offline")))),
                        navigator.serviceWorker.dispatchEvent(new MessageEvent("message", { data: { bellhop: "push" } })),
                        true)
                        """
                    try await stage.ask(jolt)
                    let count =
                        "[__seen.authorizations.length <= 4, __seen.renewals, __seen.wishes, inbox.status, inbox.token]"
                    let after = try await stage.ask(count)
                    #expect(after == [true, 1, 1, "signed-out", .null])
                    let strange = try await stage.ask(
                        "__seen.authorizations.filter((one) => one !== arguments[0]).length",
                        .string("Bearer \(ended)")
                    )
                    #expect(strange == 0, "no token is sent")
                    try await stage.ask("(inbox.token = arguments[0]) && true", .string(try stage.api.token("ada")))
                    try await stage.until("inbox.status === 'ready' && inbox.model.isLoaded")
                }
            }
        }
    }
}
