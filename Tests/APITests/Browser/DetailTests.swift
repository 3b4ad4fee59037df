import BellhopJSON
import IntegrationSupport
import TestSupport
import Testing

extension BrowserTests {
    @Suite("Details of the notification centre")
    struct DetailTests {
        @Test("a change of the layout while the settings are open keeps them")
        func layout() async throws {
            try await InboxStage.with { stage in
                try await stage.browser.go(to: "\(stage.origin)/host")
                try await stage.ask("inbox.token = arguments[0]", .string(try stage.api.token("ada")))
                try await stage.until("inbox.model?.isLoaded")
                try await stage.click("[part=bell]")
                try await stage.click("[part=settings-button]")
                try await stage.until("$('[name=master]')?.checked")
                for layout in ["page", "settings"] {
                    try await stage.ask("(inbox.setAttribute('layout', arguments[0]), true)", .string(layout))
                    try await stage.until(
                        "$('[name=master]')?.checked && $('[part=heading]').textContent === 'Innstillinger'"
                    )
                }
            }
        }

        @Test("the first rendering of a visit is in the language of the last one")
        func language() async throws {
            let pending = """
                if (sessionStorage.pending) {
                  const plain = window.fetch;
                  window.fetch = (address, ...rest) =>
                    String(address).includes("/api/settings") ? new Promise(() => {}) : plain(address, ...rest);
                }
                """
            try await InboxStage.with { stage in
                _ = try await stage.api.call("PATCH", "/api/settings", #"{"locale":"sv"}"#)
                try await stage.prepared(by: pending) {
                    try await stage.open()
                    try await stage.ask("(sessionStorage.pending = true)")
                    try await stage.browser.call("POST", "refresh", [:])
                    try await stage.until("$('[part=heading]')?.textContent === 'Notiser' && inbox.settings === null")
                }
            }
        }

        @Test("the texts follow the browser's own size of text")
        func size() async throws {
            try await InboxStage.with { stage in
                try await stage.deliver(1, InboxStage.Letter())
                let heading = "parseFloat(getComputedStyle($('[part=title]')).fontSize)"
                try await stage.open()
                try await stage.until("\(heading) === 15")
                try await stage.browser.tell("Page.setFontSizes", ["fontSizes": ["standard": 24, "fixed": 13]])
                try await stage.open()
                try await stage.until("\(heading) === 22.5")
                try await stage.browser.tell("Page.setFontSizes", ["fontSizes": ["standard": 16, "fixed": 13]])
            }
        }

        @Test("a list that changed during every load is loaded again, until it is what the server has")
        func race() async throws {
            try await InboxStage.with { stage in
                for number in 1...3 { try await stage.deliver(number, InboxStage.Letter(isRead: true)) }
                try await stage.prepared(by: InboxStage.unseen) {
                    try await stage.open()
                    let race = """
                        (() => {
                          const { client } = inbox;
                          const plain = client.list.bind(client);
                          window.__calls = 0;
                          client.list = async (query) => {
                            const page = await plain(query);
                            window.__calls += 1;
                            if (window.__calls > 3) return page;
                            inbox.model.setRead({ ids: [] });
                            return { ...page, data: page.data.map((item) => ({ ...item, read: false })) };
                          };
                          return inbox.model.load().then(() => inbox.model.order.filter((id) => !inbox.model.items.get(id).read).length);
                        })()
                        """
                    #expect(try await stage.ask(race) == 3, "the pages from before the changes")
                    try await stage.until("$$('[part=dot]').every((dot) => dot.hidden) && window.__calls === 4")
                }
            }
        }
    }
}
