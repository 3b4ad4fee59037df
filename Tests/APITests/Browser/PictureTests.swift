import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("Pictures and icons of notifications")
    struct PictureTests {
        /// A page whose pictures are the page's own icon, or fail if their address contains `gone`.
        private static let local = """
            const source = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, "src");
            Object.defineProperty(HTMLImageElement.prototype, "src", {
              set(address) {
                (window.__asked ??= []).push(address);
                source.set.call(this, address.includes("gone") ? "/gone.png" : "/icon.png");
              },
            });
            """

        private static func letter(_ image: String?, at hour: Int) -> InboxStage.Letter {
            InboxStage.Letter(title: "Brev \(hour)", at: "2026-02-21T1\(hour):00:00Z", isRead: true, image: image)
        }

        @Test("the event's picture has a fixed place, and is asked for without a referrer and only when it is near")
        func shown() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, Self.letter("https://pictures.example.com/a.png?b=c", at: 1))
                try await stage.deliver(2, Self.letter(nil, at: 2))
                try await stage.prepared(by: Self.local + InboxStage.evening) {
                    for (width, isDark) in [(1_200, false), (320, true)] {
                        try await stage.browser.resize(width: width, height: 844, isDark: isDark)
                        try await stage.open()
                        try await stage.until("$('.picture')?.naturalWidth > 0")
                        let about = """
                            ["alt", "loading", "referrerpolicy", "decoding"].map((name) => $(".picture").getAttribute(name))
                            """
                        #expect(try await stage.ask(about) == ["", "lazy", "no-referrer", "async"])
                        #expect(try await stage.ask("window.__asked") == ["https://pictures.example.com/a.png?b=c"])
                        let size = """
                            ((box) => [$$(".picture").length, box.width, box.height, box.right <= innerWidth,
                            document.documentElement.scrollWidth <= innerWidth])($(".picture").getBoundingClientRect())
                            """
                        #expect(try await stage.ask(size) == [1, 48, 48, true, true], "\(width)")
                    }
                    try await stage.expectQuiet()
                }
            }
        }

        @Test("a picture that cannot be loaded leaves no gap, and is not asked for again")
        func failed() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, Self.letter("https://pictures.example.com/gone.png", at: 1))
                try await stage.deliver(2, Self.letter(nil, at: 2))
                try await stage.prepared(by: Self.local + InboxStage.evening) {
                    try await stage.open()
                    try await stage.until("window.__asked?.length === 1 && $('.picture') === null")
                    let isAlike = """
                        ["li", ".words"].every((name) => new Set($$(name).map((node) => {
                          const { width, height } = node.getBoundingClientRect();
                          return `${width} ${height}`;
                        })).size === 1)
                        """
                    #expect(try await stage.ask(isAlike) == true, "both rows have the same size")
                    try await stage.ask("(inbox.render(), true)")
                    #expect(try await stage.ask("[window.__asked.length, $('.picture')]") == [1, .null])
                }
            }
        }

        @Test(
            "no picture is shown from an address without TLS or of another kind",
            arguments: ["http://pictures.example.com/a.png", "https://", "HTTP://x/a.png"]
        )
        func refused(address: String) async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, Self.letter(address, at: 1))
                try await stage.prepared(by: Self.local) {
                    try await stage.open()
                    #expect(try await stage.ask("[window.__asked ?? null, $('img')]") == [.null, .null])
                    let others =
                        #"["javascript:alert(1)", "data:image/png;base64,AA==", "//x/a.png", "/icon.png", 7, null]"#
                    let shown = """
                        \(others).map((imageUrl) => (inbox.model.alter(inbox.model.order[0], { imageUrl }), inbox.model.changed(), $("img")))
                        """
                    #expect(try await stage.ask(shown) == [.null, .null, .null, .null, .null, .null])
                }
            }
        }

        @Test("the page's policy allows pictures over https, and none without TLS or from an address of data")
        func policy() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                let attempt = """
                    new Promise((resolve) => {
                      const refused = [];
                      addEventListener("securitypolicyviolation", ({ blockedURI }) => refused.push(blockedURI));
                      const load = (address) => new Promise((done) => Object.assign(new Image(), { onerror: done, onload: done, src: address }));
                      Promise.all(["https://127.0.0.1:9/a.png", "http://127.0.0.1:9/b.png", "data:image/gif;base64,R0lGODlhAQABAAAAACw="].map(load))
                        .then(() => setTimeout(() => resolve(refused.sort())));
                    })
                    """
                #expect(try await stage.ask(attempt) == ["data", "http://127.0.0.1:9/b.png"])
            }
        }

        @Test("a type without an icon, or with an unknown one, has a bell, and an app can add its own drawings")
        func icons() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, InboxStage.Letter(type: "promotional", title: "Tilbud"))
                try await stage.open()
                let plain = try await stage.ask("$('.icon svg').outerHTML")
                #expect(plain.string?.contains("M6 9.5a6 6") == true, "a bell")
                for icon in ["null", "'NoSuchIcon'", "'__proto__'", "7", "''"] {
                    let drawn = """
                        (inbox.model.alter(inbox.model.order[0], { icon: \(icon) }), inbox.model.changed(), $('.icon svg')?.outerHTML ?? null)
                        """
                    #expect(try await stage.ask(drawn) == plain, "\(icon)")
                }
                let own = """
                    (BellhopInbox.addIcon("Own", "M0 0h24"), inbox.model.alter(inbox.model.order[0], { icon: "Own" }), inbox.model.changed(),
                    $('.icon path').getAttribute("d"))
                    """
                #expect(try await stage.ask(own) == "M0 0h24")
            }
        }
    }
}
