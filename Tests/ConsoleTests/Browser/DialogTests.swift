import IntegrationSupport
import TestSupport
import Testing

@testable import Console

extension ConsoleBrowserTests {
    @Suite("Dialogs of the console")
    struct DialogTests {
        @Test("a dialog closes if its page is left, and stays with the text that was typed into it")
        func left() async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.signIn(at: "#/letter/00-missing-audience")
                try await stage.press("Discard")
                try await stage.until("$('.deed') !== null")
                try await stage.press("no longer needed")
                try await stage.open("holds")
                try await stage.until("$('dialog') === null", "a chosen reason is not typed")
                try await stage.open("letter/00-missing-audience")
                try await stage.press("Discard")
                try await stage.until("document.activeElement?.name === 'because'")
                try await stage.browser.type("no")
                try await stage.open("holds")
                try await stage.until("$('dialog [name=because]')?.value === 'no'")
                try await stage.write("", into: "because")
                try await stage.open("audit")
                try await stage.until("$('dialog') === null", "the text was removed")
                try await stage.expectQuiet()
            }
        }
    }
}
