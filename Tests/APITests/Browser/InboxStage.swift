import API
import BellhopJSON
import BellhopRules
import Foundation
import HTTPServer
import IntegrationSupport
import Postgres
import ServiceRuntime
import Store
import TestSupport
import Testing

/// The API on a dedicated port, with the browser.
///
/// Each test uses a site that the browser has never visited.
struct InboxStage: Sendable {
    let api: APIFixture
    let browser: WebDriver
    /// Scheme, host and port: `http://127.0.0.1:40001`.
    let origin: String
    /// The site of another origin.
    let foreign: ForeignSite

    /// The page of an app that embeds the component.
    private static let host = """
        <!doctype html><html lang="nb"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
        <title>Drop</title>
        <style>button { min-height: 24px }</style>
        <body><header><h1>Drop</h1><bellhop-inbox></bellhop-inbox></header><main><button id="outside">Send</button></main>
        <script src="/bellhop-inbox.js"></script></body></html>
        """

    static func with(
        catalogs: CatalogSet? = nil,
        _ body: (InboxStage) async throws -> Void
    ) async throws {
        try await BrowserProgram.shared.withDriver { try await with($0, catalogs, body) }
    }

    private static func with(
        _ browser: WebDriver,
        _ catalogs: CatalogSet?,
        _ body: (InboxStage) async throws -> Void
    ) async throws {
        // Both apps reach phones, and drop also browsers, so that their settings pages have these sections.
        let drop = try #require(AppID(validating: "drop"))
        let padel = try #require(AppID(validating: "padel"))
        let foreign = try ForeignSite()
        let providers: [AppID: Set<PushProvider>] = [drop: [.expo, .fcm, .webpush], padel: [.apns]]
        try await APIFixture.with(origins: [foreign.origin], catalogs: catalogs, providers: providers) { api in
            let local = ListenAddress(host: "127.0.0.1", port: 0)
            let server = try HTTPServer.start(listen: local, limits: InboxAPI.limits) { request in
                if request.target.segments == ["host"] {
                    return HTTPResponse(
                        headers: ["Content-Type": "text/html; charset=utf-8"],
                        body: .bytes(Array(host.utf8))
                    )
                }
                if request.target.segments == ["sw.js"], request.query("records") != nil {
                    return await Self.recordingWorker(HTTPRequest(method: "GET", target: request.target), api)
                }
                if request.target.segments == ["picture.svg"] {
                    return HTTPResponse(headers: ["Content-Type": "image/svg+xml"], body: .bytes(Array(picture.utf8)))
                }
                return await api.api.respond(to: request)
            }
            let stage = InboxStage(api: api, browser: browser, origin: "http://\(server.address)", foreign: foreign)
            let result: Result<Void, any Error>
            do {
                try await stage.settle()
                result = .success(try await api.whileLive { try await body(stage) })
            } catch {
                result = .failure(error)
            }
            try? await stage.leave()
            await server.stop(grace: .zero)
            await foreign.stop()
            try result.get()
        }
    }

    /// Returns the service worker with a record, in the cache `shown`, of each notification that it has shown.
    ///
    /// Chrome forgets a notification that is listed before it is on the screen, so a test must not look for it earlier.
    private static func recordingWorker(_ request: HTTPRequest, _ api: APIFixture) async -> HTTPResponse {
        let record = """
            {
              const show = ServiceWorkerRegistration.prototype.showNotification;
              ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
                await show.call(this, title, options);
                await (await caches.open("shown")).put(`/shown/${options.tag}`, new Response());
              };
            }
            """
        var response = await api.api.respond(to: request)
        if case .bytes(let worker) = response.body { response.body = .bytes(worker + Array(record.utf8)) }
        return response
    }

    /// Sets the browser to the state in which every test begins.
    private func settle() async throws {
        try await browser.resize(width: 1_200, height: 900)
        try await browser.tell("Network.enable")
        try await browser.tell("Page.enable")
        try await browser.tell("ServiceWorker.enable")
        _ = try await browser.complaints()
    }

    private func leave() async throws {
        try await browser.go(to: "about:blank")
        try await browser.tell("Storage.clearDataForOrigin", ["origin": .string(origin), "storageTypes": "all"])
    }

    /// Runs a script before the scripts of every page, until the returned value is passed to `forget`.
    func prepare(_ script: String) async throws -> JSONValue {
        try await browser.tell("Page.addScriptToEvaluateOnNewDocument", ["source": .string(script)])["identifier"]
            ?? .null
    }

    func forget(_ identifier: JSONValue) async throws {
        try await browser.tell("Page.removeScriptToEvaluateOnNewDocument", ["identifier": identifier])
    }

    /// Runs the body with a script that runs before the scripts of every page.
    func prepared(by script: String, _ body: () async throws -> Void) async throws {
        let identifier = try await prepare(script)
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        try await forget(identifier)
        try result.get()
    }

    // MARK: - The page

    /// Opens the page as a user would from a link.
    ///
    /// It waits for the list, or for its placeholder, and for the data that the page leaves to the service worker.
    func open(as user: String = "ada", app: String = "drop", token: String? = nil) async throws {
        let token = try token ?? api.token(user, app: app)
        try await browser.go(to: "about:blank")
        try await browser.go(to: "\(origin)/#token=\(token)")
        try await eventually("the list is there") {
            let isThere =
                "inbox.catalog && inbox.model.isLoaded && inbox.status === 'ready' && $('.list').ariaBusy === 'false'"
            let isLeft = "navigator.locks.request('bellhop-mirror', () => true)"
            return try await ask("Boolean(\(isThere)) && \(isLeft)") == true
        }
    }

    /// The value of an expression about the page.
    ///
    /// `inbox` is the element, `$` and `$$` select inside it.
    @discardableResult
    func ask(_ expression: String, _ arguments: JSONValue...) async throws -> JSONValue {
        let script = """
            const inbox = document.querySelector("bellhop-inbox");
            const $ = (selector) => inbox?.shadowRoot?.querySelector(selector);
            const $$ = (selector) => [...(inbox?.shadowRoot?.querySelectorAll(selector) ?? [])];
            return (\(expression));
            """
        return try await browser.run(script, arguments)
    }

    func texts(_ selector: String) async throws -> [String] {
        let found = try await ask("$$(arguments[0]).map((node) => node.textContent)", .string(selector))
        return (found.array ?? []).compactMap(\.string)
    }

    /// Clicks an element as soon as it is there: the page may be drawing it again after an answer.
    func click(_ selector: String) async throws {
        try await eventually("\(selector) is there") {
            try await ask("((node) => node ? (node.click(), true) : false)($(arguments[0]))", .string(selector)) == true
        }
    }

    /// Waits until an expression about the page is true.
    func until(_ expression: String, _ what: String = "") async throws {
        try await eventually("\(what) \(expression)") { try await ask(expression) == true }
    }

    /// Expects that the page logged nothing.
    ///
    /// Every console message is a failure.
    func expectQuiet(_ place: String = "") async throws {
        let complaints = try await browser.complaints()
        #expect(complaints == [], "\(place)")
    }

    func openSettings() async throws {
        try await click("[part=settings-button]")
        let hasDevice = "$('.device') !== null || !inbox.catalog.ways.includes('webpush')"
        try await until("$('.settings input') !== null && (\(hasDevice))", "the settings are there")
    }

    func disconnect() async throws { try await network(isOffline: true) }

    func reconnect() async throws { try await network(isOffline: false) }

    private func network(isOffline: Bool) async throws {
        try await browser.tell(
            "Network.emulateNetworkConditions",
            ["offline": .bool(isOffline), "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1]
        )
    }

    // MARK: - Material

    /// A notification with chosen texts.
    struct Letter {
        var type = "transaction_complete"
        var title = "Overføring til Mama Jasmina fullført"
        var body = "2 000 kr sendt til Serbia"
        var at = "2026-02-21T13:32:00Z"
        var link: JSONValue? = ["web": "/transactions?id=tx_rem_1", "mobile": "/tx"]
        var data: JSONValue = [:]
        var isRead = false
        /// The thing that the notification is about; its own id if `nil`, so that it is not alike any other.
        var target: String? = nil
        var image: String? = nil
    }

    @discardableResult
    func deliver(_ number: Int, _ letter: Letter, to user: String = "ada", app: String = "drop") async throws -> String
    {
        let id = APIFixture.id(number)
        let catalog = api.servers.catalogs.catalogs.first { $0.app.text == app }
        let known = EventType(validating: letter.type).flatMap { catalog?[$0] }
        let type = try #require(known)
        let link = letter.link.map { String(decoding: JSONWriter.canonicalBytes(of: $0), as: UTF8.self) }
        _ = try await api.servers.owner.run(
            """
            INSERT INTO notifications (app, user_id, id, event_id, content_hash, type, title, body, priority, data, link,
                                       created_at, read_at, extras)
            VALUES ($1, $2, $3, $3, '', $4, $5, $6, $7, $8, $9, $10::text::timestamptz,
                    CASE WHEN $11 THEN now() END, $12)
            """,
            [
                .text(app), .text(user), .text(id), .text(letter.type), .text(letter.title), .text(letter.body),
                .text(type.priority.rawValue),
                .text(String(decoding: JSONWriter.canonicalBytes(of: letter.data), as: UTF8.self)),
                link.map(Parameter.text) ?? .null, .text(letter.at), .boolean(letter.isRead),
                letter.image.map { .text(#"{"imageUrl":"\#($0)"}"#) } ?? .null,
            ]
        )
        _ = try await api.servers.owner.run(
            "UPDATE inbox SET target_id = $2 WHERE event_id = $1",
            [.text(id), .text(letter.target ?? id)]
        )
        return id
    }

    /// Writes the notifications in the table of drop's document, over three days.
    ///
    /// A page's clock is set to `evening`.
    func deliverSamples(to user: String = "ada") async throws {
        let samples: [Letter] = [
            Letter(
                type: "promotional",
                title: "Nytt tilbud",
                body: "0% gebyr denne uken!",
                at: "2026-02-19T08:00:00Z",
                isRead: true
            ),
            Letter(
                type: "rate_update",
                title: "Valutakurs oppdatert",
                body: "1 NOK = 11.70 RSD",
                at: "2026-02-20T17:45:00Z",
                isRead: true
            ),
            Letter(type: "security", title: "Ny pålogging fra iPhone", body: "Oslo, Norge", at: "2026-02-20T18:10:00Z"),
            Letter(
                type: "qr_payment",
                title: "QR-betaling hos Ahmetov Kebab",
                body: "129 kr betalt",
                at: "2026-02-21T11:05:00Z"
            ),
            Letter(),
        ]
        for (number, letter) in samples.enumerated() { try await deliver(number + 1, letter, to: user) }
    }

    /// A script that stops a page's clock in the evening of 21 February 2026, and hides the server's clock from it.
    static let evening = """
        Date.now = () => Date.parse('2026-02-21T20:00:00Z');
        const get = Headers.prototype.get;
        Headers.prototype.get = function (name) { return name === "Date" ? null : get.call(this, name); };
        """

    /// A script that keeps the page from seeing any notification on the screen, so that unread ones stay unread.
    static let unseen = "window.IntersectionObserver = class { observe() {} unobserve() {} disconnect() {} };"
}
