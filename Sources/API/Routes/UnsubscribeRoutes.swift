import BellhopRules
import HTTPServer
import Push
import Store

/// The link in every mail by which a user stops mails without signing in (RFC 8058).
///
/// GET changes nothing, since link scanners follow every link.
struct UnsubscribeRoutes: Sendable {
    let tools: APIContext
    let turns: ChangeTurns
    /// Separate limits, so that a holder of a user's link cannot use up the user's own limits.
    private let links = RateLimiter<UserKey>(burst: 5, every: .milliseconds(500))
    private let underWay = ConcurrentRequestLimiter(most: 2)

    init(tools: APIContext, turns: ChangeTurns) {
        self.tools = tools
        self.turns = turns
    }

    /// Accepts a form with one field (RFC 8058).
    ///
    /// The body is not received if the link is invalid.
    ///
    /// `refused` is called for each call that is answered without receiving its body.
    func body(_ refused: @escaping @Sendable (HTTPRequest, APIError) -> Void) -> RouteBody {
        RouteBody(atMost: 4_096) { request in
            do throws(APIError) {
                _ = try subject(request)
                return nil
            } catch {
                refused(request, error)
                return error.response
            }
        }
    }

    /// Answers `GET /u/{token}`.
    func ask(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await answer(request) { target, _, words in
            page(
                words,
                app: target.reader.app,
                """
                <p>\(words.question)</p>
                <form method="post"><button type="submit">\(words.act)</button></form>
                """
            )
        }
    }

    /// Answers `POST /u/{token}`, whatever its body contains.
    ///
    /// A repeated call writes nothing.
    func end(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await answer(request) { target, settings, words in
            let reader = target.reader
            try await turns.run(reader) {
                if settings.wantsEmail { try await end(reader) }
                // The link of an earlier mail may contain another address than the settings. An old link contains none,
                // and its holder may have set any address since. An old link therefore ends only the mails of its user.
                if let address = target.addressHash {
                    try await tools.users.optOut(of: reader, addressHash: address)
                }
            }
            tools.live.changed(reader)
            return page(words, app: reader.app, "<p>\(words.done)</p>")
        }
    }

    private func end(_ reader: UserKey) async throws {
        let said = FeedUpdate.said(by: reader.user, of: reader.app, .recipientUpserted, ["emailEnabled": false])
        guard case .success(let update) = said else { return }
        // An erased user gets no mails, and no row must be created.
        _ = try await tools.users.say(update, as: reader, at: tools.now, where: .isKnown)
    }

    /// Answers within the limits of the link's user.
    ///
    /// They are checked before the database is used.
    private func answer(
        _ request: HTTPRequest,
        _ body: (Target, UserSettings, UnsubscribeText) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        let target = try subject(request)
        let reader = target.reader
        if let wait = links.wait(for: reader, at: tools.time.steady()) { throw APIError.tooMany(wait) }
        return try await underWay.run(reader) {
            let settings = try await tools.users.settings(of: reader)
            let words = UnsubscribeText(for: settings.locale ?? target.catalog.language)
            return try await body(target, settings, words)
        }
    }

    /// The user of a link, and the hash of the address to which its mail was sent.
    ///
    /// The hash is `nil` in old links.
    private struct Target {
        let reader: UserKey
        let catalog: Catalog
        let addressHash: [UInt8]?
    }

    private func subject(_ request: HTTPRequest) throws(APIError) -> Target {
        let token = request.parameters["token"] ?? ""
        for (app, link) in tools.secrets.unsubscribe {
            guard let subject = link.check(token), subject.app == app else { continue }
            guard let catalog = tools.catalogs.current[app] else { break }
            let reader = UserKey(app: app, user: subject.user)
            return Target(reader: reader, catalog: catalog, addressHash: subject.addressHash)
        }
        throw APIError(404, "not-found", "unknown path")
    }

    /// Returns the page.
    ///
    /// It contains no scripts and loads nothing.
    private func page(_ words: UnsubscribeText, app: AppID, _ content: String) -> HTTPResponse {
        let html = """
            <!doctype html>
            <html lang="\(words.language)">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width">
            <meta name="robots" content="noindex">
            <title>\(words.title) – \(app)</title>
            <h1>\(words.title)</h1>
            \(content)
            </html>

            """
        return HTTPResponse(
            headers: [
                "Content-Type": "text/html; charset=utf-8", "Referrer-Policy": "no-referrer",
                "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
            ],
            body: .bytes(Array(html.utf8))
        )
    }
}

/// The texts of the page in the user's language: Norwegian, Swedish, or otherwise English.
struct UnsubscribeText {
    let language: String
    let title: String
    let question: String
    let act: String
    let done: String

    init(for tag: LanguageTag) {
        switch tag.text.prefix(while: { $0 != "-" }) {
        case "nb", "no", "nn": self = .norwegian
        case "sv": self = .swedish
        default: self = .english
        }
    }

    private init(language: String, title: String, question: String, act: String, done: String) {
        self.language = language
        self.title = title
        self.question = question
        self.act = act
        self.done = done
    }

    private static let norwegian = UnsubscribeText(
        language: "nb",
        title: "Varsler på e-post",
        question: "Vil du slutte å få varsler på e-post?",
        act: "Ja, meld meg av",
        done: "Du får ikke flere varsler på e-post."
    )

    private static let swedish = UnsubscribeText(
        language: "sv",
        title: "Notiser via e-post",
        question: "Vill du sluta få notiser via e-post?",
        act: "Ja, avsluta",
        done: "Du får inga fler notiser via e-post."
    )

    private static let english = UnsubscribeText(
        language: "en",
        title: "Email notifications",
        question: "Do you want to stop getting email notifications?",
        act: "Yes, unsubscribe",
        done: "You won’t get any more email notifications."
    )
}
