import BellhopRules
import HTTPTransfer
import Push
import Testing

/// One row of Expo's table for one message: a ticket or a receipt, and its meaning.
struct ExpoMessageRow: Sendable, CustomTestStringConvertible {
    let name: String
    let report: String
    let verdict: Verdict

    var testDescription: String { name }

    init(_ code: String, _ verdict: Verdict) {
        name = code
        report = #"{"status":"error","message":"m","details":{"error":"\#(code)","expoPushToken":"x"}}"#
        self.verdict = verdict
    }

    init(message: String, _ verdict: Verdict) {
        name = message
        report = #"{"status":"error","message":"\#(message)"}"#
        self.verdict = verdict
    }

    static let all = [
        Self("DeviceNotRegistered", .deviceGone(.deviceNotRegistered, at: nil)),
        Self("MessageTooBig", .payloadError(.messageTooBig)),
        Self("MessageRateExceeded", .retry(.messageRateExceeded, notBefore: .seconds(60), scope: .device)),
        Self("MismatchSenderId", .configError(.mismatchedSender, scope: .platform)),
        Self("InvalidCredentials", .configError(.invalidCredentials, scope: .platform)),
        Self("DeveloperError", .configError(.developerError, scope: .provider)),
        Self("ProviderError", .retry(.providerError, notBefore: .seconds(5), scope: .message)),
        Self("ExpoError", .retry(.expoError, notBefore: .seconds(5), scope: .message)),
        Self("SomethingNew", .payloadError(.unspecifiedError)),
        Self(message: "x is not a valid Expo push token", .deviceGone(.invalidToken, at: nil)),
        Self(message: "x is not a registered push notification recipient", .deviceGone(.invalidToken, at: nil)),
        Self(message: "something else", .payloadError(.invalidMessage)),
    ]
}

/// One row of Expo's table for a whole request.
struct ExpoRequestRow: Sendable, CustomTestStringConvertible {
    let name: String
    let status: Int
    let body: String
    var retryAfter: Int?
    let reading: ExpoAnswer.Reading

    var testDescription: String { name }

    init(_ name: String, _ status: Int, _ body: String, retryAfter: Int? = nil, _ reading: ExpoAnswer.Reading) {
        self.name = name
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.reading = reading
    }

    private static let unauthorized = ExpoAnswer.Reading.all(.configError(.notAuthorized, scope: .provider))
    private static let elsewhere = ExpoAnswer.Reading.all(.configError(.unexpectedAnswer, scope: .provider))
    private static let stray = ExpoAnswer.Reading.all(.configError(.unexpectedStatus, scope: .provider))
    private static let lost = ExpoAnswer.Reading.all(.unknown(.unexpectedAnswer, notBefore: .seconds(5)))

    private static func slow(_ seconds: Int) -> ExpoAnswer.Reading {
        .all(.retry(.requestRate, notBefore: .seconds(seconds), scope: .provider))
    }

    private static func away(_ reason: VerdictReason, _ seconds: Int = 5) -> ExpoAnswer.Reading {
        .all(.retry(reason, notBefore: .seconds(seconds), scope: .message))
    }

    static let all: [ExpoRequestRow] = [
        Self("TOO_MANY_REQUESTS", 429, Expo.error("TOO_MANY_REQUESTS"), slow(30)),
        Self("TOO_MANY_REQUESTS until then", 429, Expo.error("TOO_MANY_REQUESTS"), retryAfter: 90, slow(90)),
        Self("429 as a page", 429, Expo.page, retryAfter: 1, slow(5)),
        Self(
            "PUSH_TOO_MANY_EXPERIENCE_IDS",
            400,
            Expo.error("PUSH_TOO_MANY_EXPERIENCE_IDS", details: #"{"@a/one":["x","y"],"@a/two":["z"]}"#),
            .mixed(["@a/one": ["x", "y"], "@a/two": ["z"]])
        ),
        Self("mixed without details", 400, Expo.error("PUSH_TOO_MANY_EXPERIENCE_IDS", details: "7"), .mixed([:])),
        Self(
            "PUSH_TOO_MANY_NOTIFICATIONS",
            400,
            Expo.error("PUSH_TOO_MANY_NOTIFICATIONS"),
            .halve(.configError(.unexpectedAnswer, scope: .provider))
        ),
        Self("UNAUTHORIZED", 401, Expo.error("UNAUTHORIZED"), unauthorized),
        Self("UNAUTHORIZED under 400", 400, Expo.error("UNAUTHORIZED"), unauthorized),
        Self("403 as a page", 403, Expo.page, unauthorized),
        Self("another 400", 400, Expo.error("VALIDATION_ERROR"), .halve(.payloadError(.invalidMessage))),
        Self("an error under 200", 200, Expo.error("SOMETHING"), .halve(.payloadError(.unspecifiedError))),
        Self("400 as a page", 400, Expo.page, elsewhere),
        Self("413", 413, Expo.page, .halve(.payloadError(.payloadTooLarge))),
        Self("302", 302, "", stray), Self("404", 404, Expo.page, stray), Self("405", 405, "", stray),
        Self("500", 500, "{}", away(.internalError)), Self("502", 502, Expo.page, away(.unavailable)),
        Self("503 until then", 503, "", retryAfter: 40, away(.unavailable, 40)),
        Self("504", 504, Expo.page, away(.unavailable)), Self("408", 408, "", away(.unexpectedStatus)),
        Self("200 with a page", 200, Expo.page, elsewhere), Self("200 with nothing", 200, "", lost),
        Self("200 cut short", 200, #"{"data":[{"status":"ok","#, lost),
        Self("200 with a ticket too few", 200, #"{"data":[{"status":"ok","id":"a"}]}"#, lost),
        Self("200 with one ticket for all", 200, #"{"data":{"status":"ok","id":"a"}}"#, lost),
    ]
}

@Suite("Expo's verdict table")
struct ExpoAnswerTests {
    private func read(_ status: Int, _ body: String, retryAfter: Int? = nil, count: Int = 2) -> ExpoAnswer.Reading {
        ExpoAnswer.read(.answer(status, body, retryAfter: retryAfter), count: count)
    }

    @Test("a request that fails as a whole has one verdict for all its messages", arguments: ExpoRequestRow.all)
    func request(_ row: ExpoRequestRow) {
        #expect(read(row.status, row.body, retryAfter: row.retryAfter) == row.reading)
    }

    @Test("an error in a ticket has its verdict", arguments: ExpoMessageRow.all)
    func ticket(_ row: ExpoMessageRow) {
        let body = #"{"data":[{"status":"ok","id":"7f-x"},\#(row.report)]}"#
        #expect(read(200, body) == .verdicts([.accepted(ticket: "7f-x"), row.verdict]))
    }

    @Test("an error in a receipt has its verdict", arguments: ExpoMessageRow.all)
    func receipt(_ row: ExpoMessageRow) {
        let body = #"{"data":{"b":\#(row.report),"a":{"status":"ok"}}}"#
        let answers = ExpoReceipts.read(.answer(200, body), of: ["a", "b", "c"])
        #expect(answers == [.known(.delivered(providerMessageID: nil)), .known(row.verdict), .missing])
    }

    @Test("a ticket without a usable id counts as delivered, and one of an unknown kind as unknown")
    func oddTickets() {
        let body = #"{"data":[{"status":"ok"},{"status":"ok","id":"a b"},{"status":"maybe"},7]}"#
        let unknown = Verdict.unknown(.unexpectedAnswer, notBefore: .seconds(5))
        let taken = Verdict.delivered(providerMessageID: nil)
        #expect(read(200, body, count: 4) == .verdicts([taken, taken, unknown, unknown]))
    }

    @Test("all messages of a request are retried if it was not sent, and unknown if it may have been")
    func transfers() {
        let lost = ExpoAnswer.read(.unknown(TransferError(.timeout, "t")), count: 100)
        #expect(lost == .all(.unknown(.timeout, notBefore: .seconds(5))))
        let unsent = ExpoAnswer.read(.notSent(TransferError(.connect, "c")), count: 100)
        #expect(unsent == .all(.retry(.connect, notBefore: .seconds(5), scope: .provider)))
    }

    @Test(
        "a failed request for receipts is repeated, whatever the failure",
        arguments: [
            (401, Expo.error("UNAUTHORIZED"), VerdictReason.notAuthorized, 60),
            (429, Expo.error("TOO_MANY_REQUESTS"), .requestRate, 30), (503, "", .unavailable, 5),
            (400, Expo.error("PUSH_TOO_MANY_RECEIPTS"), .unexpectedAnswer, 60), (200, Expo.page, .unexpectedAnswer, 60),
            (200, #"{"data":[]}"#, .unexpectedAnswer, 60), (404, Expo.page, .unexpectedStatus, 60),
        ]
    )
    func unanswered(_ status: Int, _ body: String, _ reason: VerdictReason, _ seconds: Int) {
        let answers = ExpoReceipts.read(.answer(status, body), of: ["a", "b"])
        #expect(answers == Array(repeating: .unanswered(reason, notBefore: .seconds(seconds)), count: 2))
    }

    @Test("a request for receipts without an answer is repeated")
    func lostQuestion() {
        let answers = ExpoReceipts.read(.unknown(TransferError(.timeout, "t")), of: ["a"])
        #expect(answers == [.unanswered(.timeout, notBefore: .seconds(5))])
        let odd = ExpoReceipts.read(.answer(200, #"{"data":{"a":{"status":"perhaps"}}}"#), of: ["a"])
        #expect(odd == [.unanswered(.unexpectedAnswer, notBefore: .seconds(60))])
    }
}
