import BellhopRules
import HTTPTransfer
import Push
import Testing

/// One row of APNs' verdict table: an answer and its meaning.
struct APNsRow: Sendable, CustomTestStringConvertible {
    let status: Int
    let body: String
    var retryAfter: Int?
    let reading: APNsAnswer.Reading

    var testDescription: String { "\(status) \(body)" + (retryAfter.map { " after \($0)" } ?? "") }

    init(_ status: Int, _ reason: String, retryAfter: Int? = nil, _ verdict: Verdict) {
        self.init(status, body: #"{"reason":"\#(reason)"}"#, retryAfter: retryAfter, .verdict(verdict))
    }

    init(_ status: Int, body: String, retryAfter: Int? = nil, _ reading: APNsAnswer.Reading) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.reading = reading
    }

    static func config(_ status: Int, _ reason: String, _ verdict: VerdictReason) -> APNsRow {
        APNsRow(status, reason, .configError(verdict, scope: .provider))
    }

    static func payload(_ status: Int, _ reason: String, _ verdict: VerdictReason) -> APNsRow {
        APNsRow(status, reason, .payloadError(verdict))
    }

    static let page = "<html><body>Bad Gateway</body></html>"
}

@Suite("APNs' verdict table")
struct APNsAnswerTests {
    private static let foreign = APNsAnswer.Reading.verdict(.configError(.unexpectedAnswer, scope: .provider))

    static let messages: [APNsRow] = [
        .payload(400, "BadCollapseId", .badCollapseID), .payload(400, "BadExpirationDate", .badExpirationDate),
        .payload(400, "BadMessageId", .badMessageID), .payload(400, "BadPriority", .badPriority),
        .payload(400, "InvalidPushType", .invalidPushType), .payload(400, "PayloadEmpty", .payloadEmpty),
        .payload(400, "MissingDeviceToken", .missingDeviceToken), .payload(400, "DuplicateHeaders", .duplicateHeaders),
        .payload(404, "BadPath", .badPath), .payload(413, "PayloadTooLarge", .payloadTooLarge),
        APNsRow(413, body: APNsRow.page, .verdict(.payloadError(.payloadTooLarge))),
        // Reasons that Apple may add.
        .payload(400, "SomethingNew", .unexpectedStatus), .payload(403, "SomethingNew", .unexpectedStatus),
        .payload(410, "SomethingNew", .unexpectedStatus), .payload(418, "SomethingNew", .unexpectedStatus),
    ]

    static let devices: [APNsRow] = [
        APNsRow(400, "BadDeviceToken", .deviceGone(.badDeviceToken, at: nil)),
        APNsRow(400, "DeviceTokenNotForTopic", .deviceGone(.deviceTokenNotForTopic, at: nil)),
        APNsRow(410, "Unregistered", .deviceGone(.unregistered, at: nil)),
        APNsRow(410, "ExpiredToken", .deviceGone(.expiredToken, at: nil)),
        APNsRow(
            410,
            body: #"{"reason":"Unregistered","timestamp":1771163100123}"#,
            .verdict(.deviceGone(.unregistered, at: Timestamp(microseconds: 1_771_163_100_123_000)))
        ),
        APNsRow(
            410,
            body: #"{"timestamp":1771163100000,"reason":"ExpiredToken"}"#,
            .verdict(.deviceGone(.expiredToken, at: Timestamp(microseconds: 1_771_163_100_000_000)))
        ),
        APNsRow(
            410,
            body: #"{"reason":"Unregistered","timestamp":9223372036854775807}"#,
            .verdict(.deviceGone(.unregistered, at: nil))
        ),
        APNsRow(
            410,
            body: #"{"reason":"Unregistered","timestamp":-1}"#,
            .verdict(.deviceGone(.unregistered, at: nil))
        ),
        APNsRow(
            410,
            body: #"{"reason":"Unregistered","timestamp":"yesterday"}"#,
            .verdict(.deviceGone(.unregistered, at: nil))
        ),
        APNsRow(429, "TooManyRequests", .retry(.deviceRate, notBefore: .seconds(30), scope: .device)),
        APNsRow(429, "TooManyRequests", retryAfter: 90, .retry(.deviceRate, notBefore: .seconds(90), scope: .device)),
    ]

    static let ours: [APNsRow] = [
        .config(400, "BadTopic", .badTopic), .config(400, "MissingTopic", .missingTopic),
        .config(400, "TopicDisallowed", .topicDisallowed), .config(403, "BadCertificate", .badCertificate),
        .config(403, "BadCertificateEnvironment", .badCertificateEnvironment),
        .config(403, "InvalidProviderToken", .invalidProviderToken),
        .config(403, "MissingProviderToken", .missingProviderToken), .config(403, "Forbidden", .forbidden),
        .config(403, "BadEnvironmentKeyIdInToken", .badEnvironmentKeyID),
        .config(405, "MethodNotAllowed", .methodNotAllowed),
        APNsRow(405, body: APNsRow.page, .verdict(.configError(.methodNotAllowed, scope: .provider))),
        APNsRow(403, body: #"{"reason":"ExpiredProviderToken"}"#, .expiredToken),
        APNsRow(403, body: #"{"reason":"UnrelatedKeyIdInToken"}"#, .unrelatedKey),
        APNsRow(429, body: #"{"reason":"TooManyProviderTokenUpdates"}"#, .tooManyTokens),
    ]

    static let passing: [APNsRow] = [
        APNsRow(500, "InternalServerError", .retry(.internalError, notBefore: .seconds(900), scope: .message)),
        APNsRow(503, "ServiceUnavailable", .retry(.unavailable, notBefore: .seconds(900), scope: .message)),
        APNsRow(
            503,
            "ServiceUnavailable",
            retryAfter: 5,
            .retry(.unavailable, notBefore: .seconds(900), scope: .message)
        ),
        APNsRow(
            503,
            "ServiceUnavailable",
            retryAfter: 1800,
            .retry(.unavailable, notBefore: .seconds(1800), scope: .message)
        ),
        APNsRow(
            503,
            body: #"{"reason":"Shutdown"}"#,
            .staleConnection(.retry(.shutdown, notBefore: .seconds(900), scope: .message))
        ),
        APNsRow(
            400,
            body: #"{"reason":"IdleTimeout"}"#,
            .staleConnection(.retry(.idleTimeout, notBefore: .seconds(10), scope: .message))
        ),
        APNsRow(500, body: "", .verdict(.retry(.internalError, notBefore: .seconds(900), scope: .message))),
        APNsRow(502, body: page, .verdict(.retry(.unavailable, notBefore: .seconds(900), scope: .message))),
        APNsRow(599, body: "", .verdict(.retry(.unexpectedStatus, notBefore: .seconds(900), scope: .message))),
        APNsRow(500, "SomethingNew", .retry(.unexpectedStatus, notBefore: .seconds(900), scope: .message)),
        APNsRow(500, "Unregistered", .retry(.unexpectedStatus, notBefore: .seconds(900), scope: .message)),
        APNsRow(429, body: "", .verdict(.retry(.quotaExceeded, notBefore: .seconds(30), scope: .provider))),
    ]

    private static let page = APNsRow.page

    static let foreigners: [APNsRow] = [301, 400, 401, 403, 404, 407, 410].flatMap { status in
        ["", page, "{}", #"{"reason":7}"#, "null", #"["Unregistered"]"#].map { APNsRow(status, body: $0, foreign) }
    }

    @Test("every row of the table has its verdict", arguments: [messages, devices, ours, passing].flatMap(\.self))
    func row(_ row: APNsRow) {
        let reading = APNsAnswer.read(
            status: row.status,
            id: nil,
            retryAfterSeconds: row.retryAfter,
            body: Array(row.body.utf8)
        )
        #expect(reading == row.reading)
    }

    @Test("an answer without one of Apple's reasons is another server's and revokes no device", arguments: foreigners)
    func foreigner(_ row: APNsRow) {
        let body = Array(row.body.utf8)
        #expect(APNsAnswer.read(status: row.status, id: "x", retryAfterSeconds: nil, body: body) == row.reading)
    }

    @Test("an accepted push is delivered with the id that APNs returned, if a table can store it")
    func taken() {
        let id = "8e4f0b1a-3c5d-4e6f-8a9b-0c1d2e3f4a5b"
        let outcome = TransferOutcome.answer(200, lines: "apns-id: \(id)\n")
        #expect(APNsAnswer.read(outcome) == .verdict(.delivered(providerMessageID: id)))
        let bare = APNsAnswer.Reading.verdict(.delivered(providerMessageID: nil))
        for odd in [nil, "", "a b", String(repeating: "x", count: 65)] {
            #expect(APNsAnswer.read(status: 200, id: odd, retryAfterSeconds: nil, body: []) == bare)
        }
        let page = Array(APNsRow.page.utf8)
        #expect(APNsAnswer.read(status: 200, id: id, retryAfterSeconds: nil, body: page) == Self.foreign)
    }

    @Test("a push that was not sent may be retried, and a lost one is unknown")
    func transfers() {
        let lost = TransferError(.connectionLost, "x")
        #expect(
            APNsAnswer.read(.notSent(lost))
                == .verdict(.retry(.connectionLost, notBefore: .seconds(10), scope: .message))
        )
        #expect(APNsAnswer.read(.unknown(lost)) == .verdict(.unknown(.connectionLost, notBefore: .seconds(10))))
        let certificate = TransferError(.certificate, "x")
        #expect(APNsAnswer.read(.notSent(certificate)) == .verdict(.configError(.certificate, scope: .provider)))
    }
}
