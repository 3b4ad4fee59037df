import HTTPTransfer

/// The transports that contract tests run with.
enum TransportKind: String, Sendable, CaseIterable, CustomStringConvertible {
    /// `CurlTransport`.
    case curl
    /// `HTTP2Transport`.
    case http2

    var description: String { rawValue }

    /// The options that both transports have.
    struct Traits {
        var connections = 1
        var bodyLimit = 64 * 1024
        var closeGrace = Duration.seconds(5)
    }

    /// Makes a transport that trusts `certificate`.
    ///
    /// It has one connection per host, unless `change` sets another number.
    func open(
        trusting certificate: TestCertificate,
        _ change: (inout Traits) -> Void = { _ in }
    ) throws -> any HTTPTransport {
        var traits = Traits()
        change(&traits)
        switch self {
        case .curl:
            var options = CurlTransportOptions(name: "curl")
            options.authoritiesFile = certificate.certificateFile
            options.connections = traits.connections
            options.bodyLimit = traits.bodyLimit
            options.closeGrace = traits.closeGrace
            return try CurlTransport(options)
        case .http2:
            return try HTTP2Transport.trusting(certificate) {
                $0.maxConnectionsPerHost = traits.connections
                $0.bodyLimit = traits.bodyLimit
                $0.closeGrace = traits.closeGrace
            }
        }
    }
}

extension HTTP2Transport {
    /// Makes a transport that trusts `certificate`.
    ///
    /// It has one connection per host, unless `change` sets another number.
    static func trusting(
        _ certificate: TestCertificate,
        _ change: (inout HTTP2TransportOptions) -> Void = { _ in }
    ) throws -> HTTP2Transport {
        var options = HTTP2TransportOptions(name: "http2")
        options.authoritiesFile = certificate.certificateFile
        options.maxConnectionsPerHost = 1
        change(&options)
        return try HTTP2Transport(options)
    }
}
