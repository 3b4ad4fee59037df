import Compression
package import HTTPTransfer
package import ServiceRuntime

/// The address of Expo's push service, and the requests of one app.
package struct ExpoService: Sendable {
    private let endpoint: String
    /// The access token; only the request contains it in plain text.
    private let accessToken: Secret?
    let transport: any HTTPTransport

    /// Creates the service; the endpoint is Expo's scheme, host and port, without a trailing slash.
    ///
    /// `accessToken` is necessary if the Expo project requires one ("enhanced push security").
    package init(endpoint: String, accessToken: Secret?, transport: any HTTPTransport) {
        self.endpoint = endpoint + "/--/api/v2/push/"
        self.transport = transport
        self.accessToken = accessToken
    }

    /// Returns a request; its body is compressed if that is worthwhile.
    func request(_ method: String, _ body: [UInt8]) -> TransferRequest {
        var headers: [TransferRequest.Header] = [
            ("accept", "application/json"), ("accept-encoding", "gzip"), ("content-type", "application/json"),
        ]
        if let accessToken { headers.append(("authorization", "Bearer " + accessToken.revealed)) }
        var request = TransferRequest(
            .post,
            url: endpoint + method,
            headers: headers,
            body: body,
            timeouts: Self.timeouts
        )
        guard body.count > Self.largestPlain, let packed = Gzip.compressed(body) else { return request }
        request.headers.append(("content-encoding", "gzip"))
        request.body = packed
        return request
    }

    /// Sends requests and decompresses the answers.
    ///
    /// An answer that cannot be decompressed stays unchanged. Its reader finds no JSON, as in any other answer that
    /// does not come from Expo.
    func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        await transport.send(requests).map { outcome in
            guard case .answered(let answer) = outcome, answer.headers["content-encoding"]?.lowercased() == "gzip",
                let body = Gzip.expanded(answer.body, atMost: Self.largestAnswer)
            else { return outcome }
            return .answered(answer.with(body: body))
        }
    }

    private static let largestPlain = 1024

    /// The maximum size of an answer in bytes, compressed or not; well above a thousand receipts.
    static let largestAnswer = 4 << 20

    private static let timeouts = TransferTimeouts(total: .seconds(20), connect: .seconds(10))
}
