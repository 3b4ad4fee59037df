import HTTPTransfer
import Testing

@Suite("Transport options")
struct OptionsTests {
    /// Separate from the attribute, since the compiler of Swift 6.0 crashes on closures there.
    private static let unworkable: [@Sendable (inout CurlTransportOptions) -> Void] = [
        { $0.connections = 0 }, { $0.connections = 65 }, { $0.bodyLimit = Int.max }, { $0.closeGrace = .seconds(-1) },
        { $0.closeGrace = .seconds(Int64.max) },
        { $0.authoritiesFile = "/nonexistent/ca.pem" },
    ]

    private static let unworkableHTTP2: [@Sendable (inout HTTP2TransportOptions) -> Void] = [
        { $0.window = 0 }, { $0.maxConnectionsPerHost = 0 }, { $0.maxConcurrentStreams = -1 },
        { $0.bodyLimit = Int.max }, { $0.maxConnections = 0 }, { $0.closeGrace = .seconds(-1) },
        { $0.closeGrace = .seconds(Int64.max) }, { $0.trust = .seconds(Int64.max) }, { $0.patience = .zero },
        { $0.maxIdleAge = .zero }, { $0.authoritiesFile = "/nonexistent/ca.pem" },
    ]

    @Test("an HTTP/2 transport rejects unusable options when it is created", arguments: unworkableHTTP2)
    func refusedHTTP2(change: @Sendable (inout HTTP2TransportOptions) -> Void) {
        var options = HTTP2TransportOptions(name: "refused")
        change(&options)
        #expect {
            try HTTP2Transport(options)
        } throws: { error in
            (error as? TransferError)?.code == .invalidOptions
        }
    }

    @Test("a curl transport rejects unusable options when it is created", arguments: unworkable)
    func refused(change: @Sendable (inout CurlTransportOptions) -> Void) {
        var options = CurlTransportOptions(name: "refused")
        change(&options)
        #expect {
            try CurlTransport(options)
        } throws: { error in
            (error as? TransferError)?.code == .invalidOptions
        }
    }
}
