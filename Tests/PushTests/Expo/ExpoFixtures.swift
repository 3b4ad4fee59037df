import BellhopRules
import Compression
import HTTPTransfer
import ServiceRuntime
import TestSupport
import Testing

@testable import Push

/// Messages to devices with Expo's tokens, and senders with a scripted transport.
enum Expo {
    static func plain(
        _ name: String = "phone",
        _ platform: DevicePlatform = .android,
        notification: UInt64 = 0xAB
    ) throws -> PushMessage {
        try addressed(SamplePushes.plain(platform, notification: notification), to: name)
    }

    static func full(_ platform: DevicePlatform) throws -> PushMessage {
        try addressed(SamplePushes.full(platform), to: "phone")
    }

    static func addressed(_ message: PushMessage, to name: String) throws -> PushMessage {
        var message = message
        message.device.token = try #require(DeviceToken(validating: token(name)))
        message.device.provider = .expo
        return message
    }

    static func token(_ name: String) -> String { "ExponentPushToken[\(name)]" }

    static func batch(_ names: some Sequence<String>) throws -> [PushMessage] {
        try names.enumerated().map { try plain($1, notification: UInt64($0)) }
    }

    static func sender(_ transport: any HTTPTransport, accessToken: String? = nil, log: CapturedLog = CapturedLog())
        -> ExpoSender
    {
        ExpoSender(
            service: ExpoService(
                endpoint: "https://expo.example",
                accessToken: accessToken.map { Secret($0) },
                transport: transport
            ),
            logger: Logger(label: "push", sink: log)
        )
    }

    /// Returns a success with one ticket for each message, named after its token.
    static func tickets(_ request: TransferRequest) throws -> TransferOutcome {
        .answer(
            200,
            #"{"data":[\#(try request.expoTokens.map { #"{"status":"ok","id":"t-\#($0)"}"# }.joined(separator: ","))]}"#
        )
    }

    static func error(_ code: String, details: String = "{}") -> String {
        #"{"errors":[{"code":"\#(code)","message":"m","isTransient":false,"details":\#(details)}]}"#
    }

    static let page = "<!DOCTYPE html><html><title>Error</title></html>"
}

extension TransferRequest {
    /// The body as JSON, expanded if it is compressed.
    var expoBody: JSONValue {
        get throws {
            let bytes = header("content-encoding") == "gzip" ? Gzip.expanded(body, atMost: 1 << 22) : body
            let whole = try #require(bytes)
            return try JSONParser(limits: .init(bytes: 1 << 22, depth: 32)).parse(whole).get()
        }
    }

    /// The tokens of the messages, in order.
    var expoTokens: [String] {
        get throws {
            let messages = try expoBody.array ?? []
            return messages.compactMap { $0["to"]?.string }
        }
    }
}
