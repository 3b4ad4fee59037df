import BellhopJSON
import Cryptography
import HTTPServer
import ServiceRuntime
import Settings

/// Signs operators in and out, and finds the session of each call.
struct OperatorAuthenticator: Sendable {
    let operators: WatchedDocument<OperatorFile>
    let sessions: SessionTable
    let cookie: ConsoleCookie
    /// The origin under which browsers reach the console, or `nil` if it is the address on which it listens.
    let origin: WebOrigin?
    let docsURL: String?
    let proxies: [AddressRange]
    let time: any TimeSource
    let logger: Logger
    private let attempts = AttemptLimiter()

    init(_ surroundings: OperatorConsole.Surroundings, sessions: SessionTable) {
        operators = surroundings.operators
        self.sessions = sessions
        cookie = ConsoleCookie(isSecure: surroundings.origin?.text.hasPrefix("https://") ?? false)
        origin = surroundings.origin
        docsURL = surroundings.docsURL
        proxies = surroundings.proxies
        time = surroundings.time
        logger = surroundings.logger.labelled("console")
    }

    /// Returns the session of a call, or `nil` if there is none.
    func session(of request: HTTPRequest) -> Session? {
        cookie.value(in: request).flatMap { sessions.find($0, among: operators.current) }
    }

    /// Returns the session of a call that reads.
    ///
    /// Throws if the role is not sufficient.
    func admit(_ request: HTTPRequest, asOperator: Bool = false) throws(ConsoleError) -> Session {
        guard let session = session(of: request) else { throw .signedOut }
        guard !asOperator || session.person.role == .operator else { throw .viewer }
        return session
    }

    /// Returns the session of a call that changes something.
    ///
    /// The call must come from the console's own page.
    func admitAct(_ request: HTTPRequest, asOperator: Bool = true) throws(ConsoleError) -> Session {
        try expectOwnPage(request)
        let session = try admit(request)
        let proof = request.headers["X-Bellhop-Proof"] ?? ""
        guard ConstantTime.areEqual(Array(proof.utf8), Array(session.proof.utf8)) else { throw .strangePage }
        guard !asOperator || session.person.role == .operator else { throw .viewer }
        return session
    }

    // MARK: - Sign-in and sign-out

    func signIn(_ request: HTTPRequest, _ count: (String) -> Void) throws(ConsoleError) -> HTTPResponse {
        try expectOwnPage(request)
        let (peer, now) = (request.caller(behind: proxies), time.steady())
        let token = try OperatorConsole.body(of: request)["token"]?.string ?? ""
        guard token.utf8.count <= 256, let person = operators.current.owner(of: token) else {
            // A valid token is always accepted, so that failed attempts of others cannot lock out an operator.
            guard attempts.mayTry(peer, at: now) else {
                count("limited")
                var fault = ConsoleError.tooManyAttempts
                fault.headers.append(("Retry-After", "60"))
                throw fault
            }
            attempts.failed(peer, at: now)
            count("refused")
            logger.warning("sign-in failed: unknown token", Self.fields(peer))
            throw .wrongToken
        }
        guard let (value, session) = try? sessions.begin(person) else { throw .busy }
        cookie.value(in: request).map(sessions.end)
        count("done")
        logger.notice("\(person.name) has signed in", Self.fields(peer))
        var response = telling(session)
        response.headers["Set-Cookie"] = cookie.field(value)
        return response
    }

    func signOut(_ request: HTTPRequest) throws(ConsoleError) -> HTTPResponse {
        _ = try admitAct(request, asOperator: false)
        cookie.value(in: request).map(sessions.end)
        return HTTPResponse(status: 204, headers: ["Set-Cookie": cookie.removal])
    }

    /// Returns the signed-in operator, the proof that acts must send, and the address of the documentation.
    func telling(_ session: Session) -> HTTPResponse {
        let person = session.person
        let object: JSONValue = [
            "name": .string(person.name), "role": .string(person.role.rawValue), "proof": .string(session.proof),
            "docs": docsURL.map(JSONValue.string) ?? .null,
        ]
        return .json(JSONWriter.canonicalBytes(of: object))
    }

    private static func fields(_ peer: PeerAddress?) -> LogFields {
        ["address": .text(peer.map { "\($0.address)" } ?? "unknown")]
    }

    /// Rejects a call from another page, whatever cookies the browser sends.
    ///
    /// Browsers state the origin of a call in headers.
    private func expectOwnPage(_ request: HTTPRequest) throws(ConsoleError) {
        if let site = request.headers["Sec-Fetch-Site"], site != "same-origin" { throw .strangePage }
        if let said = request.headers["Origin"], !isOwn(said, request) { throw .strangePage }
    }

    private func isOwn(_ said: String, _ request: HTTPRequest) -> Bool {
        if let origin { return said == origin.text }
        return request.headers["Host"].map { said == "http://\($0)" } ?? false
    }
}
