import Foundation
import IntegrationSupport
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("Errors in the console's dialogs")
    struct ErrorTextTests {
        private static let texts: [(server: String, console: String)] = [
            (
                "have the producer corrected; edit --set '/id={item}' for urgent messages",
                "have the producer corrected; edit with /id={item} in “Places and values” for urgent messages"
            ),
            (
                "--set '/id={item}' gives each an id of its own",
                "/id={item} in “Places and values” gives each an id of its own"
            ),
            (
                "misspelt app: edit --routing-key APP.TYPE, and --set /app=APP if the body has it",
                "misspelt app: edit the routing key to APP.TYPE, and /app=APP in “Places and values” if the body has it"
            ),
            (
                "bring-forward --app drop --provider fcm: wait until bellhop status no longer reports it",
                "“Bring forward” of drop at fcm: wait until the page Status no longer reports it"
            ),
            (
                "probe --app drop --provider fcm: no breaker is open; deliveries need no try; see bellhop providers",
                "“Try now” of drop at fcm: no breaker is open; deliveries need no try; see the page Providers"
            ),
            (
                "bellhop hold discard 3 --event e1 ends them, bellhop hold release 3 sends them.",
                "“Discard held deliveries” of hold 3 ends them, “Release” of hold 3 sends them."
            ),
            ("wait for it, or bellhop dead-letters cancel 7", "wait for it, or “Cancel” of replay 7"),
            (
                "show x: unknown item; bellhop dead-letters list shows all items",
                "show x: unknown item; the page Dead letters shows all items"
            ),
            (
                "20 items stay; --cap N allows more.",
                "20 items stay; “Skip items replayed … times or more” allows more."
            ),
            (
                "it was rejected (bellhop dead-letters list --app drop --user ada); the user is unknown, too",
                "it was rejected (the page Dead letters); the user is unknown, too"
            ),
            (
                "1,296 items match, and one edit is for 1,000 items; add --limit",
                "1,296 items match, and one edit is for 1,000 items; enter a number in “At most this many items”"
            ),
            ("fanout-stop: the server has answered nothing for 6s", "the server has answered nothing for 6s"),
            ("bellhop hold shows what can be done", "the page Holds shows what can be done"),
            (
                "bellhop dead-letters resume 1 continues it, cancel 1 reopens them",
                "“Resume” of replay 1 continues it, “Cancel” reopens them"
            ),
            ("see bellhop check-config", "see bellhop check-config"),
        ]

        @Test("a message names pages, buttons and fields of the console in place of commands and options")
        func words() async throws {
            let files = try ["words", "elements", "letter"].map { name in
                try Checkout.text("Sources/Console/WebAssets/assets/\(name).js")
            }
            try await BrowserProgram.shared.withDriver { browser in
                try await browser.go(to: "about:blank")
                for (server, console) in Self.texts {
                    let script = (files + ["return inConsole(arguments[0]);"]).joined(separator: "\n")
                    let shown = try await browser.run(script, [.string(server)])
                    #expect(shown.string == console)
                }
                // The dialog of a single dead letter has no such field.
                let script = (files + ["return ownAdvice({ advice: arguments[0] });"]).joined(separator: "\n")
                let own = try await browser.run(script, [.string("edit --set '/id={item}' for urgent messages")])
                #expect(own.string == "edit with /id={item} in “Body” for urgent messages")
            }
        }

        @Test("a dry run reports the first fault of the catalogues, and an error of several lines keeps its lines")
        func lines() async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("catalogs"))
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            try Data("{app: 7, nosuch: 1}".utf8).write(to: folder.appendingPathComponent("drop.json5"))
            let environment = ["BELLHOP_CATALOGS": folder.path]
            try await ConsoleStage.with([DeadLetterSamples.rejected("l1")], environment: environment) { stage in
                try await stage.signIn(at: "#/letter/l1")
                try await stage.press("Dry run")
                try await stage.until("$('dialog .fault')?.innerText.includes('no outcome can be predicted')")
                let isPlain = try await stage.ask("!$('dialog .fault').innerText.includes(String.fromCharCode(92))")
                #expect(isPlain == true, "no escape is shown")
                try await stage.press("Close")
                try await stage.press("Replay")
                let forecast = "one.innerText.includes('no outcome can be predicted')"
                try await stage.until("$$('dialog .fault').some((one) => \(forecast))", "the question has its reason")
                try await stage.press("Cancel")
                // Several faults, one a line.
                let answer = """
                    (window.fetch = async () => new Response(JSON.stringify(
                        { error: { code: "failed", message: ["two faults:", "one", "two"].join(String.fromCharCode(10)) } }
                    ), { status: 500 }), true)
                    """
                try await stage.ask(answer)
                try await stage.press("Dry run")
                let shown = "$('dialog .fault')?.innerText.split(String.fromCharCode(10)).join('|')"
                try await stage.until(shown, is: "Two faults:|one|two")
            }
        }
    }
}
