@testable import HTTPTransfer
import Testing

@Suite("Request fields")
struct RequestFieldsTests {
    private static let url = "https://push.example/send"

    private static func request(
        _ method: TransferRequest.Method = .post,
        url: String = url,
        key: String = "key-1"
    ) -> TransferRequest {
        TransferRequest(method, url: url, headers: [("authorization", key)], body: [1])
    }

    @Test("fields are shared by requests that differ only in their bodies, wherever their headers are in memory")
    func same() throws {
        var other = Self.request()
        other.body = [1, 2, 3]
        let fits = try Self.fields(of: Self.request()).fit(other)
        #expect(fits)
    }

    @Test(
        "fields do not fit a request with another method, URL or header",
        arguments: [
            request(.put), request(url: "https://push.example/other"), request(key: "key-2"),
            TransferRequest(.post, url: url, body: [1]),
        ]
    )
    func others(_ other: TransferRequest) throws {
        let fits = try Self.fields(of: Self.request()).fit(other)
        #expect(!fits)
    }

    private static func fields(of request: TransferRequest) throws -> RequestFields {
        try RequestFields(request, to: try TargetURL(of: request))
    }
}
