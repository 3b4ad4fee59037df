import ServiceRuntime
package import Settings

/// The destination and the selection of spans, from OpenTelemetry's standard variables.
package struct TracingSettings: Sendable {
    /// The full URL to which spans are posted.
    package let endpoint: String
    /// Headers in addition to those of the protocol; they may contain a key.
    let headers: [(name: String, value: Secret)]
    let timeout: Duration
    package let sampler: Sampler
    /// The name of the service; `nil` for a name derived from its role.
    let service: String?
    /// Further attributes of the process.
    let attributes: [(name: String, value: String)]
    /// A PEM file with the trusted authorities, used instead of the system's.
    let authoritiesFile: String?

    /// The destination for display: without log-in and query, because either may be a key.
    package var place: String {
        let head = endpoint.prefix { $0 != "?" && $0 != "#" }
        guard let mark = head.firstRange(of: "://") else { return "" }
        let rest = head[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        return "\(head[..<mark.upperBound])\(host)\(rest[authority.endIndex...])"
    }

    /// Reads the settings; returns `nil` if tracing is off, which includes a missing endpoint.
    ///
    /// All faults are reported together.
    package static func read(_ environment: [String: String]) throws(ConfigurationFaults) -> TracingSettings? {
        var reader = OpenTelemetryReader(environment)
        let settings = reader.settings()
        guard reader.faults.isEmpty else { throw ConfigurationFaults(faults: reader.faults) }
        return settings
    }
}
