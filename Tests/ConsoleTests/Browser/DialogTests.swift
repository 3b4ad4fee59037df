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

        @Test("the count to type and the buttons stay in view at any size", arguments: [(1_280, 800), (320, 568)])
        func foot(width: Int, height: Int) async throws {
            try await ConsoleStage.with(ConsoleStage.night) { stage in
                try await stage.browser.resize(width: width, height: height, isStill: true)
                try await stage.signIn(at: "#/desk")
                try await stage.until("$$('.group').length === 4")
                try await stage.pressInGroup("missing-audience", "Replay")
                try await stage.until("$('dialog [name=sure]')?.closest('[hidden]') === null")
                try await stage.until("$('dialog [name=typed]').closest('label').textContent === 'Type 14 to confirm'")
                try await stage.ask("($('dialog details').open = true, $('dialog').scrollTop = 0, true)")
                let isScrolled = try await stage.ask("$('dialog').scrollHeight > $('dialog').clientHeight")
                #expect(isScrolled == true, "the dialog is longer than the window")
                let isSeen = """
                    [$('[name=typed]'), $('[name=sure]'), named('Cancel'), named('Replay 14')].every((one) => {
                        const box = one.getBoundingClientRect();
                        const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
                        return box.top >= 0 && box.bottom <= innerHeight && one.contains(top);
                    })
                    """
                try await stage.until(isSeen, "the fields and both buttons are seen")
                let fits = try await stage.ask("$('dialog').scrollWidth <= $('dialog').clientWidth")
                #expect(fits == true)
                try await stage.expectQuiet()
            }
        }
    }
}
