import BellhopRules
import Compression
import HTTPTransfer
import Testing

extension SandboxClient {
    /// Sends a request to the stand-in for Expo.
    ///
    /// `headers` replace the usual headers of the same name.
    func expo(
        _ method: String,
        _ body: String,
        type: String = "application/json",
        headers: [TransferRequest.Header] = []
    ) async throws -> TransferAnswer {
        try await expo(method, Array(body.utf8), type: type, headers: headers)
    }

    func expo(
        _ method: String,
        _ body: [UInt8],
        type: String = "application/json",
        headers: [TransferRequest.Header] = []
    ) async throws -> TransferAnswer {
        let url = sandbox.expoEndpoint + "/--/api/v2/push/" + method
        return try await answer(
            TransferRequest(.post, url: url, headers: [("content-type", type)] + headers, body: body)
        )
    }

    /// Sends one message to each name and returns the tickets.
    func tickets(_ names: String...) async throws -> [JSONValue] {
        let messages = names.map { #"{"to":"ExponentPushToken[\#($0)]","title":"t"}"# }
        let answer = try await expo("send", "[\(messages.joined(separator: ","))]")
        #expect(answer.status == 200)
        return try #require(answer.json?["data"]?.array)
    }

    func receipts(of tickets: [JSONValue]) async throws -> JSONObject {
        let ids = tickets.compactMap { $0["id"]?.string }.map { #""\#($0)""# }
        let answer = try await expo("getReceipts", #"{"ids":[\#(ids.joined(separator: ","))]}"#)
        #expect(answer.status == 200)
        return try #require(answer.json?["data"]?.object)
    }
}

extension TransferAnswer {
    /// The code of the first error of a request.
    var expoError: String? { json?.at("errors/0/code")?.string }
}
