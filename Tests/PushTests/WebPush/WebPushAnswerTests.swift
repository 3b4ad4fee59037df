import BellhopRules
@testable import HTTPTransfer
import Push
import Testing

/// One row of the verdict table: an answer and its meaning.
struct WebPushAnswerRow: Sendable, CustomTestStringConvertible {
    let name: String
    let status: Int
    var retryAfter: Int?
    let body: String
    let reading: WebPushAnswer.Reading

    var testDescription: String { name }

    init(_ name: String, _ status: Int, retryAfter: Int? = nil, _ body: String, _ verdict: Verdict) {
        self.init(name, status, retryAfter: retryAfter, body, reading: .verdict(verdict))
    }

    init(_ name: String, _ status: Int, retryAfter: Int? = nil, _ verdict: Verdict) {
        self.init(name, status, retryAfter: retryAfter, "", reading: .verdict(verdict))
    }

    init(
        _ name: String,
        _ status: Int,
        retryAfter: Int? = nil,
        _ body: String = "",
        reading: WebPushAnswer.Reading
    ) {
        self.name = name
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
        self.reading = reading
    }

    static func mozilla(_ number: Int) -> String {
        #"{"code":400,"errno":\#(number),"error":"x","message":"x","more_info":"x"}"#
    }

    static func apple(_ reason: String) -> String { #"{"reason":"\#(reason)"}"# }

    static let otherKey =
        "the VAPID credentials in the authorization header do not correspond to the credentials used to create the "
        + "subscriptions."
}

@Suite("Web Push's verdict table")
struct WebPushAnswerTests {
    private typealias Row = WebPushAnswerRow

    private static func after(
        _ reason: VerdictReason,
        _ seconds: Int,
        _ scope: VerdictScope = .message
    ) -> Verdict {
        .retry(reason, notBefore: .seconds(seconds), scope: scope)
    }

    private static let badRequest = Verdict.payloadError(.badRequest)
    private static let gone = Verdict.deviceGone(.subscriptionGone, at: nil)

    static let taken: [WebPushAnswerRow] = [200, 201, 202, 204].map { status in
        Row("\(status)", status, "", .delivered(providerMessageID: nil))
    }

    static let redirects: [WebPushAnswerRow] = [300, 301, 302, 303, 307, 308].map { status in
        Row("\(status) is not followed", status, "", .payloadError(.redirected))
    }

    static let mozilla: [WebPushAnswerRow] = [101, 108, 110, 111, 112, 113].map { number in
        Row("400, Mozilla's \(number)", 400, Row.mozilla(number), badRequest)
    }

    static let apple: [WebPushAnswerRow] = [
        "BadTtl", "BadUrgency", "BadWebPushTopic", "BadWebPushRequest", "BadPath",
    ].map { reason in
        Row("400, Apple's \(reason)", 400, Row.apple(reason), badRequest)
    }

    static let signIns: [WebPushAnswerRow] = [
        "BadJwtToken", "BadAuthorizationHeader", "BadVapidPublicKey",
    ].flatMap { reason -> [WebPushAnswerRow] in
        let body = Row.apple(reason)
        return [
            Row("400, Apple's \(reason)", 400, body, reading: .staleAuthorization),
            Row("403, Apple's \(reason)", 403, body, reading: .staleAuthorization),
        ]
    }

    static let refused: [WebPushAnswerRow] = [
        Row("400 without words", 400, "", badRequest),
        Row("400, FCM: UnauthorizedRegistration", 400, "UnauthorizedRegistration", reading: .staleAuthorization),
        Row("401, Mozilla's 109", 401, Row.mozilla(109), reading: .staleAuthorization),
        Row("401, FCM", 401, "authorization header must be specified.", reading: .staleAuthorization),
        Row("403 without words", 403, reading: .staleAuthorization),
        Row("404, Mozilla's 102", 404, Row.mozilla(102), gone), Row("404 without words", 404, gone),
        Row("404, a page", 404, "<html></html>", gone),
        Row("405, Apple", 405, Row.apple("MethodNotAllowed"), .configError(.unexpectedStatus, scope: .device)),
        Row("406, WNS throttles", 406, after(.tooManyRequests, 10, .device)),
        Row("410, Mozilla's 103", 410, Row.mozilla(103), gone), Row("410, Mozilla's 106", 410, Row.mozilla(106), gone),
        Row("410, FCM", 410, "NotRegistered", gone),
        Row("413, Mozilla's 104", 413, Row.mozilla(104), .payloadError(.payloadTooLarge)),
        Row("413, Apple", 413, Row.apple("PayloadTooLarge"), .payloadError(.payloadTooLarge)),
        Row("418", 418, .payloadError(.unexpectedStatus)),
    ]

    static let waiting: [WebPushAnswerRow] = [
        Row("408", 408, after(.unexpectedStatus, 10)),
        Row("429 that says until when", 429, retryAfter: 120, after(.tooManyRequests, 120, .device)),
        Row("429 that says nothing", 429, after(.tooManyRequests, 10, .device)),
        Row(
            "429, Apple, sooner than is sensible",
            429,
            retryAfter: 1,
            Row.apple("TooManyRequests"),
            after(.tooManyRequests, 10, .device)
        ),
        Row("429, later than is sensible", 429, retryAfter: 10_000_000, after(.tooManyRequests, 21_600, .device)),
        Row("500, Mozilla's 999", 500, Row.mozilla(999), after(.internalError, 10)),
        Row("502, Mozilla's 900", 502, Row.mozilla(900), after(.unavailable, 10)),
        Row("503, Mozilla's 201", 503, retryAfter: 30, Row.mozilla(201), after(.unavailable, 30)),
        Row("503, Apple's Shutdown", 503, Row.apple("Shutdown"), after(.unavailable, 10)),
        Row("504", 504, after(.unavailable, 10)), Row("599", 599, after(.unexpectedStatus, 10)),
        Row("400, Apple's IdleTimeout", 400, Row.apple("IdleTimeout"), after(.connectionLost, 10)),
    ]

    static let all: [WebPushAnswerRow] = [taken, redirects, mozilla, apple, signIns, refused, waiting].flatMap { $0 }

    @Test("every row of the table has its verdict", arguments: all)
    func rows(_ row: WebPushAnswerRow) {
        let outcome = TransferOutcome.answer(row.status, row.body, retryAfter: row.retryAfter)
        #expect(WebPushAnswer.read(outcome, namesKey: true) == row.reading)
        #expect(WebPushAnswer.read(outcome, namesKey: false) == row.reading)
    }

    @Test(
        "a browser with another key is gone if it did not name the key, and otherwise the configuration is at fault",
        arguments: [
            (400, WebPushAnswerRow.apple("VapidPkHashMismatch")), (403, WebPushAnswerRow.apple("VapidPkHashMismatch")),
            (403, WebPushAnswerRow.otherKey), (401, WebPushAnswerRow.otherKey),
        ]
    )
    func otherKey(_ status: Int, _ body: String) {
        let outcome = TransferOutcome.answer(status, body)
        #expect(
            WebPushAnswer.read(outcome, namesKey: true) == .verdict(.configError(.vapidMismatch, scope: .device))
        )
        #expect(
            WebPushAnswer.read(outcome, namesKey: false) == .verdict(.deviceGone(.vapidMismatch, at: nil))
        )
    }

    @Test("Apple's id is stored, and an address for the withdrawal of a message is not")
    func identifiers() {
        func reading(_ headers: String) -> WebPushAnswer.Reading {
            WebPushAnswer.read(
                .answered(
                    TransferAnswer(
                        status: 201,
                        headers: AnswerHeaders(lines: Array(headers.utf8)),
                        body: [],
                        isBodyTruncated: false,
                        version: .http2,
                        newConnections: 0,
                        retryAfterSeconds: nil
                    )
                ),
                namesKey: false
            )
        }
        let id = "E3B0C442-98FC-1C14-9AFB-F4C8996FB924"
        #expect(reading("apns-id: \(id)\r\n") == .verdict(.delivered(providerMessageID: id)))
        #expect(reading("location: https://push.example/m/1\r\n") == .verdict(.delivered(providerMessageID: nil)))
        let long = String(repeating: "x", count: 65)
        #expect(reading("apns-id: \(long)\r\n") == .verdict(.delivered(providerMessageID: nil)))
    }

    static let transfers: [(TransferError.Code, Verdict)] = [
        (.addressRefused, .payloadError(.addressRefused)), (.invalidRequest, .payloadError(.invalidRequest)),
        (.certificate, .configError(.certificate, scope: .device)),
        (.invalidOptions, .configError(.invalidOptions, scope: .device)),
        (.nameLookup, after(.nameLookup, 10, .device)), (.connect, after(.connect, 10, .device)),
        (.tls, after(.tls, 10, .device)), (.timeout, after(.timeout, 10, .device)),
        (.connectionLost, after(.connectionLost, 10, .device)),
        (.incompleteAnswer, after(.incompleteAnswer, 10, .device)),
        (.protocolViolation, after(.protocolViolation, 10, .device)), (.library, after(.library, 10, .device)),
        (.cancelled, after(.cancelled, 0)), (.closed, after(.closed, 0)),
    ]

    @Test("a request that was not sent affects only its own endpoint", arguments: transfers)
    func notSent(_ code: TransferError.Code, _ verdict: Verdict) {
        #expect(WebPushAnswer.read(.notSent(TransferError(code, "x")), namesKey: true) == .verdict(verdict))
    }

    @Test("a request that may have been sent is unknown")
    func unknown() {
        let outcome = TransferOutcome.unknown(TransferError(.timeout, "x"))
        #expect(
            WebPushAnswer.read(outcome, namesKey: true) == .verdict(.unknown(.timeout, notBefore: .seconds(10)))
        )
    }

    @Test("no answer and no failure to connect applies to the whole provider")
    func noBreaker() {
        var verdicts: [Verdict] = Self.transfers.map(\.1)
        for row in Self.all {
            if case .verdict(let verdict) = row.reading { verdicts.append(verdict) }
        }
        for verdict in verdicts {
            switch verdict {
            case .retry(_, _, let scope), .configError(_, let scope): #expect(scope == .message || scope == .device)
            default: break
            }
        }
    }
}
