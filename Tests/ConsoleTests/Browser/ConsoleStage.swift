import BellhopJSON
import Foundation
import HTTPServer
import IntegrationSupport
import ServiceRuntime
import Store
import TestSupport
import Testing

@testable import Console

/// Tests that run in a browser.
///
/// They run one after another, since there is only one browser.
@Suite(
    "The console in a browser",
    .serialized,
    .limitedConcurrency,
    .enabled(if: Servers.databaseURL != nil && Servers.amqpURL != nil, "needs both servers"),
    .enabled(if: BrowserProgram.isThere, "needs chromium and chromium-driver"),
    .timeLimit(.ofTest)
)
enum ConsoleBrowserTests {}

/// A console on a dedicated port, with the browser.
struct ConsoleStage: Sendable {
    let console: ConsoleFixture
    let browser: WebDriver
    /// Scheme, host and port: `http://127.0.0.1:40001`.
    let origin: String

    static func with(
        _ letters: [DeadLetterItem] = [],
        environment: [String: String] = [:],
        _ body: @Sendable (ConsoleStage) async throws -> Void
    ) async throws {
        try await ConsoleFixture.with(letters, environment: environment) { console in
            try await BrowserProgram.shared.withDriver { browser in
                let local = ListenAddress(host: "127.0.0.1", port: 0)
                let server = try HTTPServer.start(listen: local, limits: OperatorConsole.limits) { request in
                    await console.console.respond(to: request)
                }
                let stage = ConsoleStage(console: console, browser: browser, origin: "http://\(server.address)")
                let result: Result<Void, any Error>
                do {
                    try await stage.settle()
                    result = .success(try await body(stage))
                } catch { result = .failure(error) }
                try? await browser.go(to: "about:blank")
                _ = try? await browser.tell("Network.clearBrowserCookies")
                await server.stop(grace: .zero)
                try result.get()
            }
        }
    }

    private func settle() async throws {
        try await browser.resize(width: 1_280, height: 900)
        try await browser.tell("Network.enable")
        try await browser.tell("Page.enable")
        _ = try await browser.complaints()
    }

    // MARK: - The page

    /// Signs in with the form, by keyboard only.
    func signIn(_ role: OperatorRole = .operator, at place: String = "") async throws {
        try await browser.go(to: "about:blank")
        try await browser.go(to: "\(origin)/\(place)")
        try await until("document.activeElement?.name === 'token'", "the form has the focus")
        try await browser.type(try #require(console.tokens[role]))
        try await browser.press([.enter])
        try await until("$('.menu') && $('.body')?.ariaBusy === 'false'", "it is signed in")
    }

    /// Opens a page of the console and waits until it is shown.
    func open(_ place: String) async throws {
        try await ask("(location.hash = arguments[0], true)", .string("#/\(place)"))
        try await until("$('.body')?.ariaBusy === 'false' && !$('.loading')", place)
    }

    /// The value of an expression about the page.
    ///
    /// `$` and `$$` select inside the page.
    @discardableResult
    func ask(_ expression: String, _ arguments: JSONValue...) async throws -> JSONValue {
        let script = """
            const $ = (selector) => document.querySelector(selector);
            const $$ = (selector) => [...document.querySelectorAll(selector)];
            const buttons = $$("dialog[open] button, #main button");
            const named = (words) => buttons.findLast((one) => one.textContent === words);
            return (\(expression));
            """
        return try await browser.run(script, arguments)
    }

    /// Waits until an expression about the page is true.
    ///
    /// The failure contains the page's text.
    func until(_ expression: String, _ what: String = "") async throws {
        do {
            try await eventually("\(what) \(expression)") { try await ask(expression) == true }
        } catch {
            let words = try? await ask("document.body.innerText").string
            throw BrowserFailure("\(error); the page shows: \((words ?? "nothing").prefix(2_000))")
        }
    }

    /// Waits until an expression about the page has this value.
    func until(_ expression: String, is value: JSONValue) async throws {
        try await eventually(expression, value: { try await ask(expression) }, is: { $0 == value })
    }

    func texts(_ selector: String) async throws -> [String] {
        let found = try await ask("$$(arguments[0]).map((node) => node.textContent)", .string(selector))
        return (found.array ?? []).compactMap(\.string)
    }

    /// Presses the button with this label.
    ///
    /// A button in an open dialog has precedence over one on the page.
    func press(_ button: String) async throws {
        try await until("named(\"\(button)\") && !named(\"\(button)\").disabled", "there is a button \(button)")
        try await ask("named(arguments[0]).click()", .string(button))
    }

    /// Sends the dialog, once its preview has arrived.
    func submit() async throws {
        try await until("$('dialog [type=submit]')?.disabled === false", "the dialog can be sent")
        try await ask("$('dialog [type=submit]').click()")
    }

    /// Presses a button of the group with this reason.
    func pressInGroup(_ reason: String, _ button: String) async throws {
        let work = """
            [...$$(".group").find((one) => one.querySelector("h2 a").textContent === arguments[0])
                .querySelectorAll("button")].find((one) => one.textContent === arguments[1]).click()
            """
        try await ask(work, .string(reason), .string(button))
    }

    /// Writes into a field as a user does, so that the page receives the input event.
    func write(_ text: String, into name: String) async throws {
        let work = """
            ((input) => (input.value = arguments[1], input.dispatchEvent(new Event("input", { bubbles: true })), true))
            (($("dialog[open]") ?? document).querySelector(`[name="${arguments[0]}"]`))
            """
        try await ask(work, .string(name), .string(text))
    }

    /// Expects that the page logged nothing.
    ///
    /// Every console message is a failure.
    func expectQuiet(_ place: String = "") async throws {
        let complaints = try await browser.complaints().filter { !$0.contains("/api/session") }
        #expect(complaints == [], "\(place)")
    }

    // MARK: - Material

    /// Dead letters as an operator on call may find them: four groups of several apps and reasons.
    static var night: [DeadLetterItem] {
        let kinds: [(String, String, Int, String)] = [
            ("missing-audience", "drop", 14, "nobody is named: expected \"to\" with user, users, topic or everyone"),
            ("malformed-json", "venues", 5, "expected a value, found the end of the text"),
            ("invalid-field", "padel", 3, "expected an instant such as 2026-02-15T13:45:00Z, found \"tomorrow\""),
            ("unknown-type", "daily", 2, "the catalogue has no type streak_lost, did you mean streak_at_risk?"),
        ]
        return kinds.enumerated().flatMap { kind, row -> [DeadLetterItem] in
            (0..<row.2).map { number in
                DeadLetterSamples.rejected(
                    "\(kind)\(number)-\(row.0)",
                    reason: row.0,
                    app: row.1,
                    user: kind == 2 ? "u\(number)" : nil,
                    error: row.3,
                    failedAt: DeadLetterSamples.ago(Int64(120 + number * 2_500 * (kind + 1))),
                    body:
                        #"{"id":"e\#(kind)-\#(number)","eventType":"system","title":"Payment received","body":"1 kr","data":{"transfer":9007199254740993}}"#
                )
            }
        }
    }
}
