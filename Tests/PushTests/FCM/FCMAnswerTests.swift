import BellhopRules
import HTTPTransfer
import Push
import Testing

/// One row of the verdict table: an answer and its meaning.
struct AnswerRow: Sendable, CustomTestStringConvertible {
    let name: String
    let status: Int
    var retryAfter: Int?
    let body: String
    let reading: FCMAnswer.Reading

    var testDescription: String { name }

    init(_ name: String, _ status: Int, retryAfter: Int? = nil, _ body: String, _ verdict: Verdict) {
        self.init(name, status, retryAfter: retryAfter, body, reading: .verdict(verdict))
    }

    init(_ name: String, _ status: Int, retryAfter: Int? = nil, _ body: String, reading: FCMAnswer.Reading) {
        self.name = name
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
        self.reading = reading
    }

    /// Returns an error in FCM's format; `details` are JSON.
    static func error(_ status: String, _ message: String = "", details: String...) -> String {
        let details = details.joined(separator: ",")
        return #"{"error":{"code":0,"message":"\#(message)","status":"\#(status)","details":[\#(details)]}}"#
    }

    static func fcm(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    static func violation(_ field: String, _ description: String = "x") -> String {
        let violation = #"{"field":"\#(field)","description":"\#(description)"}"#
        return #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(violation)]}"#
    }

    static let page = "<!DOCTYPE html><html><title>Error</title></html>"
}

@Suite("FCM's verdict table")
struct FCMAnswerTests {
    private typealias Row = AnswerRow

    static let taken: [AnswerRow] = [
        Row(
            "200 with the message's name",
            200,
            #"{ "name": "projects/p/messages/0:1500415314455276%31bd1c96" }"#,
            .delivered(providerMessageID: "projects/p/messages/0:1500415314455276%31bd1c96")
        ),
        Row(
            "200 with the name between blanks",
            200,
            " {\n \"name\" :\t\"p/m/1\" } \r\n",
            .delivered(providerMessageID: "p/m/1")
        ),
        Row("200 with an escape in the name", 200, #"{"name":"p\/m\u002f1"}"#, .delivered(providerMessageID: "p/m/1")),
        Row("200 with a space in the name", 200, #"{"name":"p/m "}"#, .delivered(providerMessageID: nil)),
        Row("200 with a second member", 200, #"{"name":"p/m/1","more":1}"#, .delivered(providerMessageID: "p/m/1")),
        Row("200 with the name twice", 200, #"{"name":"p/m/1","name":"p/m/2"}"#, .delivered(providerMessageID: nil)),
        Row("200 with more behind the object", 200, #"{"name":"p/m/1"} x"#, .delivered(providerMessageID: nil)),
        Row("200 without a name", 200, "{}", .delivered(providerMessageID: nil)),
        Row("200 with an empty name", 200, #"{"name":""}"#, .delivered(providerMessageID: nil)),
        Row("200 with a name that is not a text", 200, #"{"name":7}"#, .delivered(providerMessageID: nil)),
        Row(
            "200 with a name that no table could hold",
            200,
            #"{"name":"a\u0000"}"#,
            .delivered(providerMessageID: nil)
        ),
        Row("200 with nothing", 200, "", .delivered(providerMessageID: nil)),
        Row("200 cut short", 200, #"{"name":"projects/p"#, .delivered(providerMessageID: nil)),
        Row("204", 204, "", .delivered(providerMessageID: nil)),
        Row("200 with a page of another server", 200, Row.page, .configError(.unexpectedAnswer, scope: .provider)),
    ]

    static let refused: [AnswerRow] = [
        Row(
            "400 that calls the token invalid in its message",
            400,
            Row.error("INVALID_ARGUMENT", "The registration token is not a valid FCM registration token"),
            .deviceGone(.invalidToken, at: nil)
        ),
        Row(
            "400 that calls the token invalid in other letters",
            400,
            Row.error("INVALID_ARGUMENT", "Not a valid FCM Registration Token."),
            .deviceGone(.invalidToken, at: nil)
        ),
        Row(
            "400 with the older sentence",
            400,
            Row.error("INVALID_ARGUMENT", "Invalid registration token provided", details: Row.fcm("INVALID_ARGUMENT")),
            .deviceGone(.invalidToken, at: nil)
        ),
        Row(
            "400 that calls the token invalid in a violation's description",
            400,
            Row.error(
                "INVALID_ARGUMENT",
                "Request contains an invalid argument.",
                details: Row.violation("message", "Invalid registration token")
            ),
            .deviceGone(.invalidToken, at: nil)
        ),
        Row(
            "400 that blames the token's field by its short name",
            400,
            Row.error("INVALID_ARGUMENT", details: Row.violation("token")),
            .deviceGone(.invalidToken, at: nil)
        ),
        Row(
            "400 that blames another token than the device's",
            400,
            Row.error("INVALID_ARGUMENT", details: Row.violation("message.apns.live_activity_token")),
            .payloadError(.invalidArgument)
        ),
        Row(
            "400 UNREGISTERED",
            400,
            Row.error("INVALID_ARGUMENT", details: Row.fcm("UNREGISTERED")),
            .deviceGone(.unregistered, at: nil)
        ),
        Row(
            "404 that was not found and UNREGISTERED",
            404,
            Row.error("NOT_FOUND", "Requested entity was not found.", details: Row.fcm("UNREGISTERED")),
            .deviceGone(.unregistered, at: nil)
        ),
        Row(
            "400 that blames the token's field, FcmError first",
            400,
            Row.error("INVALID_ARGUMENT", details: Row.fcm("INVALID_ARGUMENT"), Row.violation("message.token")),
            .deviceGone(.invalidToken, at: nil)
        ),
        Row(
            "400 that blames the token's field, FcmError last",
            400,
            Row.error("INVALID_ARGUMENT", details: Row.violation("message.token"), Row.fcm("INVALID_ARGUMENT")),
            .deviceGone(.invalidToken, at: nil)
        ),
        Row(
            "400 that blames another field",
            400,
            Row.error("INVALID_ARGUMENT", details: Row.fcm("INVALID_ARGUMENT"), Row.violation("message.data[0].value")),
            .payloadError(.invalidArgument)
        ),
        Row(
            "400 for a body that is too big, without details",
            400,
            #"{"error":{"code":400,"message":"Message is too big","status":"INVALID_ARGUMENT"}}"#,
            .payloadError(.invalidArgument)
        ),
        Row("400 with a page", 400, Row.page, .payloadError(.invalidArgument)),
        Row("400 with nothing", 400, "", .payloadError(.invalidArgument)),
        Row(
            "400 without a specified error",
            400,
            Row.error("FAILED_PRECONDITION", details: Row.fcm("UNSPECIFIED_ERROR")),
            .payloadError(.unspecifiedError)
        ),
        Row("413", 413, Row.page, .payloadError(.payloadTooLarge)),
        Row(
            "404 UNREGISTERED",
            404,
            Row.error("NOT_FOUND", details: Row.fcm("UNREGISTERED")),
            .deviceGone(.unregistered, at: nil)
        ),
        Row(
            "404 UNREGISTERED behind another detail",
            404,
            Row.error(
                "NOT_FOUND",
                details: #"{"@type":"type.googleapis.com/google.rpc.Help"}"#,
                Row.fcm("UNREGISTERED")
            ),
            .deviceGone(.unregistered, at: nil)
        ),
        Row(
            "404 without FcmError",
            404,
            Row.error("NOT_FOUND", "Requested entity was not found."),
            .configError(.notFound, scope: .provider)
        ),
        Row(
            "404 that only spells UNREGISTERED in its message",
            404,
            Row.error("NOT_FOUND", "UNREGISTERED"),
            .configError(.notFound, scope: .provider)
        ),
        Row("404 with a page", 404, Row.page, .configError(.notFound, scope: .provider)),
        Row("404 with nothing", 404, "", .configError(.notFound, scope: .provider)),
        Row(
            "403 SENDER_ID_MISMATCH",
            403,
            Row.error("PERMISSION_DENIED", details: Row.fcm("SENDER_ID_MISMATCH")),
            .deviceGone(.senderIDMismatch, at: nil)
        ),
        Row(
            "403 without FcmError",
            403,
            Row.error("PERMISSION_DENIED"),
            .configError(.permissionDenied, scope: .provider)
        ),
        Row("403 with a page", 403, Row.page, .configError(.permissionDenied, scope: .provider)),
        Row("409, which is not documented", 409, "", .payloadError(.unexpectedStatus)),
        Row(
            "409 UNSPECIFIED_ERROR",
            409,
            Row.error("ABORTED", details: Row.fcm("UNSPECIFIED_ERROR")),
            .payloadError(.unspecifiedError)
        ),
    ]

    static let ours: [AnswerRow] = [
        Row("401 without FcmError", 401, Row.error("UNAUTHENTICATED"), reading: .staleAccessToken),
        Row("401 with a page", 401, Row.page, reading: .staleAccessToken),
        Row("401 with nothing", 401, "", reading: .staleAccessToken),
        Row(
            "401 THIRD_PARTY_AUTH_ERROR",
            401,
            Row.error("UNAUTHENTICATED", details: Row.fcm("THIRD_PARTY_AUTH_ERROR")),
            .configError(.thirdPartyAuthError, scope: .platform)
        ),
        Row(
            "401 under its older name",
            401,
            Row.error("UNAUTHENTICATED", details: Row.violation("x"), Row.fcm("APNS_AUTH_ERROR")),
            .configError(.thirdPartyAuthError, scope: .platform)
        ),
        Row("301", 301, "", .configError(.unexpectedStatus, scope: .provider)),
        Row("405", 405, Row.page, .configError(.unexpectedStatus, scope: .provider)),
        Row("407", 407, "", .configError(.unexpectedStatus, scope: .provider)),
    ]

    static let passing: [AnswerRow] = [
        Row(
            "429 without a wait",
            429,
            Row.error("RESOURCE_EXHAUSTED", details: Row.fcm("QUOTA_EXCEEDED")),
            .retry(.quotaExceeded, notBefore: .seconds(60), scope: .provider)
        ),
        Row(
            "429 with a wait",
            429,
            retryAfter: 120,
            "",
            .retry(.quotaExceeded, notBefore: .seconds(120), scope: .provider)
        ),
        Row(
            "429 with a wait too short",
            429,
            retryAfter: 2,
            "",
            .retry(.quotaExceeded, notBefore: .seconds(10), scope: .provider)
        ),
        Row("429 with a page", 429, Row.page, .retry(.quotaExceeded, notBefore: .seconds(60), scope: .provider)),
        Row(
            "429 of one device",
            429,
            Row.error("RESOURCE_EXHAUSTED", "Device message rate quota exceeded.", details: Row.fcm("QUOTA_EXCEEDED")),
            .retry(.deviceRate, notBefore: .seconds(60), scope: .device)
        ),
        Row("500", 500, Row.error("INTERNAL"), .retry(.internalError, notBefore: .seconds(10), scope: .message)),
        Row("500 with nothing", 500, "", .retry(.internalError, notBefore: .seconds(10), scope: .message)),
        Row(
            "500 UNSPECIFIED_ERROR",
            500,
            Row.error("UNKNOWN", details: Row.fcm("UNSPECIFIED_ERROR")),
            .retry(.unspecifiedError, notBefore: .seconds(10), scope: .message)
        ),
        Row("502 with a page", 502, Row.page, .retry(.unavailable, notBefore: .seconds(10), scope: .message)),
        Row("504 with a page", 504, Row.page, .retry(.unavailable, notBefore: .seconds(10), scope: .message)),
        Row(
            "503",
            503,
            Row.error("UNAVAILABLE", details: Row.fcm("UNAVAILABLE")),
            .retry(.unavailable, notBefore: .seconds(10), scope: .message)
        ),
        Row(
            "503 with a wait",
            503,
            retryAfter: 90,
            Row.error("UNAVAILABLE"),
            .retry(.unavailable, notBefore: .seconds(90), scope: .message)
        ),
        Row(
            "503 with a wait of a year",
            503,
            retryAfter: 31_536_000,
            "",
            .retry(.unavailable, notBefore: .seconds(21_600), scope: .message)
        ),
        Row(
            "503 with a wait that has passed",
            503,
            retryAfter: 0,
            "",
            .retry(.unavailable, notBefore: .seconds(10), scope: .message)
        ),
        Row("408", 408, "", .retry(.unexpectedStatus, notBefore: .seconds(10), scope: .message)),
        Row("599", 599, "", .retry(.unexpectedStatus, notBefore: .seconds(10), scope: .message)),
    ]

    @Test("every row of the table has its verdict", arguments: [taken, refused, ours, passing].flatMap(\.self))
    func row(_ row: AnswerRow) {
        let reading = FCMAnswer.read(status: row.status, retryAfterSeconds: row.retryAfter, body: Array(row.body.utf8))
        #expect(reading == row.reading)
    }

    @Test(
        "no unexpected body revokes a device or ends the process",
        arguments: [400, 401, 403, 404, 429, 500]
    )
    func oddBodies(_ status: Int) {
        let bodies = [
            "null", "[]", "7", "\"UNREGISTERED\"", #"{"error":null}"#, #"{"error":"UNREGISTERED"}"#,
            #"{"error":{"details":{}}}"#, #"{"error":{"details":[null,1,{"@type":3}]}}"#,
            #"{"error":{"details":[{"errorCode":"UNREGISTERED"}]}}"#, String(repeating: "[", count: 5000), "\u{FEFF}{}",
        ]
        for body in bodies {
            let reading = FCMAnswer.read(status: status, retryAfterSeconds: .max, body: Array(body.utf8))
            guard case .verdict(let verdict) = reading else { continue }
            #expect(verdict.kind != .deviceGone, "\(body)")
            #expect(verdict.kind != .delivered, "\(body)")
        }
    }
}
