import BellhopJSON
import Foundation
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("Untrusted content in the browser")
    struct InjectionTests {
        private static let corpus = [
            "<script>window.__ran=1</script>", "<img src=x onerror=window.__ran=1>", "<svg/onload=window.__ran=1>",
            "\"><script>window.__ran=1</script>", "'-window.__ran=1-'",
            "</ul></section><iframe srcdoc='<script>parent.__ran=1</script>'>",
            "{{constructor.constructor('window.__ran=1')()}}", "${window.__ran=1}", "javascript:window.__ran=1",
            "<style>*{display:none}</style>", "<a href=\"javascript:window.__ran=1\">x</a>", "&lt;script&gt;",
            "__proto__",
            "<template shadowrootmode=open><script>window.__ran=1</script></template>", "\u{202E}gnp.exe\u{2066}",
            "<math><mtext></table></math><img src onerror=window.__ran=1>", "]]><!--<script>window.__ran=1</script>-->",
        ]

        private static let watch = """
            addEventListener("securitypolicyviolation", (event) => (window.__violations = (window.__violations ?? []).concat(event.violatedDirective)));
            """

        @Test("titles, bodies, data and links appear as text and addresses, and no script in them runs")
        func notifications() async throws {
            try await InboxStage.with { stage in
                for (number, text) in Self.corpus.enumerated() {
                    let link: JSONValue = ["web": .string(text), "mobile": .string(text), "scheme": .string(text)]
                    let data: JSONValue = [text: .string(text), "constructor": [text: [.string(text)]]]
                    let letter = InboxStage.Letter(title: text, body: text, link: link, data: data)
                    try await stage.deliver(Self.corpus.count - number, letter)
                }
                try await stage.prepared(by: Self.watch) {
                    try await stage.open()
                    let titles = try await stage.texts("[part=title]")
                    #expect(titles == Self.corpus)
                    let bodies = try await stage.texts("[part=body]")
                    #expect(bodies == Self.corpus)
                    let strange = try await stage.ask("$$('script, img, iframe, style, template, math').length")
                    #expect(strange == 0)
                    let schemes = try await stage.ask("[...new Set($$('a').map((link) => link.origin))]")
                    #expect(schemes == [.string(stage.origin)])
                    let directions = try await stage.ask("$$('[part=title]').every((title) => title.dir === 'auto')")
                    #expect(directions == true)
                    try await Self.expectNothingRan(stage)
                }
            }
        }

        @Test("preferences and settings with arbitrary content appear only as known fields, and no script runs")
        func preferences() async throws {
            try await InboxStage.with { stage in
                for text in Self.corpus {
                    let document: JSONValue = [
                        "enabled": .string(text), "quietHours": ["startHour": .string(text), "endHour": .string(text)],
                        "eventToggles": [text: true, "security": .string(text)], text: .string(text),
                    ]
                    let body = String(decoding: JSONWriter.canonicalBytes(of: document), as: UTF8.self)
                    let answer = try await stage.api.call("PUT", "/api/preferences", body)
                    #expect(answer.status == 200)
                }
                try await stage.prepared(by: Self.watch) {
                    try await stage.open()
                    try await stage.openSettings()
                    let names = try await stage.ask("$$('input').map((input) => input.name)")
                    #expect(names.array?.count == 10)
                    try await Self.expectNothingRan(stage)
                }
            }
        }

        @Test("the page's policy blocks inline scripts and styles, and every conversion of text to markup")
        func policy() async throws {
            try await InboxStage.with { stage in
                try await stage.open()
                let attempts = """
                    (() => {
                      const script = document.createElement("script");
                      const refused = [];
                      const attempt = (name, work) => { try { work(); } catch { refused.push(name); } };
                      attempt("text", () => { script.textContent = "window.__ran = 1"; document.body.append(script); });
                      attempt("markup", () => { document.body.innerHTML = "<img src=x onerror=window.__ran=1>"; });
                      attempt("address", () => { document.createElement("script").src = "https://evil.example/x.js"; });
                      return [refused, window.__ran ?? null];
                    })()
                    """
                let found = try await stage.ask(attempts)
                #expect(found == [["text", "markup", "address"], .null])
            }
        }

        private static func expectNothingRan(_ stage: InboxStage) async throws {
            let found = try await stage.ask("[window.__ran ?? null, window.__violations ?? null]")
            #expect(found == [.null, .null])
            try await stage.expectQuiet()
        }
    }
}
