import API
import HTTPServer
import ServiceRuntime
import Synchronization

/// A site of another origin than the API's, which the API accepts.
final class ForeignSite: Sendable {
    private let page: Page
    private let server: HTTPServer
    /// Scheme, host and port.
    let origin: String

    /// The answer to every request.
    private final class Page: Sendable {
        let answer = Mutex(HTTPResponse())
    }

    init() throws {
        let page = Page()
        let local = ListenAddress(host: "127.0.0.1", port: 0)
        server = try HTTPServer.start(listen: local, limits: InboxAPI.limits) { _ in page.answer.withLock { $0 } }
        self.page = page
        origin = "http://\(server.address)"
    }

    /// Answers every request with a page under a content security policy.
    func show(_ html: String, policy: String) {
        page.answer.withLock { answer in
            answer = HTTPResponse(
                headers: ["Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy],
                body: .bytes(Array(html.utf8))
            )
        }
    }

    func stop() async { await server.stop(grace: .zero) }
}
