import BellhopJSON
import TestSupport
import Testing
import IntegrationSupport

extension BrowserTests {
    @Suite("Placement and look of the notification centre")
    struct PanelTests {
        private static func signIn(_ stage: InboxStage) async throws {
            try await stage.browser.go(to: "\(stage.origin)/host")
            try await stage.ask("inbox.token = arguments[0]", .string(try stage.api.token("ada")))
            try await stage.until("inbox.model?.isLoaded")
        }

        @Test(
            "the panel stays in the window wherever the bell is, with and without the browser's anchor positioning",
            arguments: [true, false]
        )
        func corners(isAnchored: Bool) async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await stage.prepared(by: isAnchored ? "" : "CSS.supports = () => false;") {
                    try await Self.signIn(stage)
                    for place in [
                        "top: 8px; left: 8px", "top: 8px; right: 8px", "bottom: 8px; left: 8px",
                        "bottom: 8px; right: 8px",
                    ] {
                        let move = "(inbox.style.cssText = 'position: fixed; ' + arguments[0])"
                        try await stage.ask(move, .string(place))
                        try await stage.click("[part=bell]")
                        let isInside = """
                            (({ left, top, right, bottom }) => left >= 0 && top >= 0 && right <= innerWidth
                              && bottom <= innerHeight && bottom - top > 300)($('[part=panel]').getBoundingClientRect())
                            """
                        try await stage.until("$$('[part=item]').length === 5 && \(isInside)", place)
                        try await stage.click("[part=close]")
                    }
                }
            }
        }

        @Test("a header that hides its overflow does not cut the panel, and on a phone the panel is modal")
        func topLayer() async throws {
            try await InboxStage.with { stage in
                try await stage.deliverSamples()
                try await Self.signIn(stage)
                let clip = "(document.querySelector('header').style.cssText = 'overflow: hidden; height: 60px')"
                try await stage.ask(clip)
                try await stage.click("[part=bell]")
                let onTop = """
                    (({ left, bottom }) => document.elementFromPoint(left + 40, bottom - 40))
                      ($('[part=panel]').getBoundingClientRect()) === inbox
                    """
                try await stage.until(onTop)
                try await stage.click("[part=close]")
                try await stage.browser.resize(width: 390, height: 844)
                try await stage.click("[part=bell]")
                let isWhole = "$('[part=panel]').offsetWidth === innerWidth"
                try await stage.until("$('[part=panel]').matches(':modal') && \(isWhole)")
                try await stage.browser.press([.escape])
                try await stage.until("$('[part=panel]').hidden && inbox.shadowRoot.activeElement === $('[part=bell]')")
            }
        }

        @Test("the skeleton fills the width, and a notification without a known icon has a bell")
        func look() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, InboxStage.Letter(type: "promotional", title: "Tilbud"))
                let held = """
                    const plain = window.fetch;
                    window.fetch = (...args) => (window.__go ? plain(...args) : new Promise((resolve, reject) => {
                      addEventListener("go", () => plain(...args).then(resolve, reject));
                    }));
                    """
                try await stage.prepared(by: held) {
                    try await stage.browser.go(to: "\(stage.origin)/#token=\(try stage.api.token("ada"))")
                    try await stage.until("$$('.bone').length === 3")
                    let isWide = try await stage.ask("$('.bone').offsetWidth > $('.list').offsetWidth * 0.8")
                    #expect(isWide == true)
                    try await stage.ask("((window.__go = true), dispatchEvent(new Event('go')))")
                    try await stage.until("$$('[part=icon] path').length === 1")
                }
            }
        }

        @Test("line breaks are kept, a long text opens in place, and one line too many is simply shown")
        func long() async throws {
            try await InboxStage.with { stage in
                let long = (1...12).map { "Linje \($0)" }.joined(separator: "\n")
                let five = (1...5).map { "Rad \($0)" }.joined(separator: "\n")
                try await stage.deliver(2, InboxStage.Letter(title: "Lang", body: long, link: nil))
                try await stage.deliver(1, InboxStage.Letter(title: "Kort", body: five, link: nil))
                try await stage.open()
                let heights = "$$('[part=body]').map((body) => body.scrollHeight - body.clientHeight)"
                try await stage.until("\(heights)[0] > 100 && \(heights)[1] <= 2")
                let offers = try await stage.ask("$$('[part=show-more]').map((button) => button.hidden)")
                #expect(offers == [false], "the first notification alone has a button")
                try await stage.ask("($('.card').focus(), true)")
                try await stage.browser.press([.enter])
                try await stage.until("\(heights)[0] <= 2 && $('[part=show-more]').ariaExpanded === 'true'")
                try await stage.click("[part=show-more]")
                try await stage.until("\(heights)[0] > 100")
                #expect(try await stage.browser.call("GET", "url") == .string("\(stage.origin)/"))
            }
        }
    }
}
