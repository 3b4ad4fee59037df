import Foundation
import IntegrationSupport
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("Errors in the console's dialogs")
    struct ErrorTextTests {
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
