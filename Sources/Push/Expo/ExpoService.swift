import Compression
package import HTTPTransfer
package import ServiceRuntime

/// Where Expo's push service is, and how one app speaks with it.
package struct ExpoService: Sendable {
    private let endpoint: String
    /// Told in plain text by the request alone.
    private let accessToken: Secret?
    let transport: any HTTPTransport

    /// The endpoint is Expo's scheme, host and port, without a slash at the end.
    ///
    /// `accessToken` is needed where the Expo project asks for one ("enhanced push security").
    package init(endpoint: String, accessToken: Secret?, transport: any HTTPTransport) {
        self.endpoint = endpoint + "/--/api/v2/push/"
        self.transport = transport
        self.accessToken = accessToken
    }

    /// A request whose body travels compressed where that is worth it.
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

    /// Sends requests and unpacks what comes back.
    ///
    /// An answer that cannot be unpacked stays as it is: whoever reads it finds no JSON, as in any other answer that is
    /// not Expo's.
    func send(_ requests: [TransferRequest]) async -> [TransferOutcome] {
        await transport.send(requests).map { outcome in
            guard case .answered(let answer) = outcome, answer.headers["content-encoding"]?.lowercased() == "gzip",
                let body = Gzip.expanded(answer.body, atMost: Self.largestAnswer)
            else { return outcome }
            return .answered(answer.with(body: body))
        }
    }

    private static let largestPlain = 1024

    /// Well above a thousand receipts, as they come and unpacked.
    static let largestAnswer = 4 << 20

    private static let timeouts = TransferTimeouts(total: .seconds(20), connect: .seconds(10))
}
