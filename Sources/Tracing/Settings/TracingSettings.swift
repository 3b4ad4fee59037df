package import ServiceRuntime

/// Where spans go and which, by the variables that OpenTelemetry has for every program.
package struct TracingSettings: Sendable {
    /// The whole URL that spans are posted to.
    package let endpoint: String
    /// Beside those of the protocol; they may hold a key.
    let headers: [(name: String, value: Secret)]
    let timeout: Duration
    package let sampler: Sampler
    /// What the service is called; nil for the name of its role.
    let service: String?
    /// What is said of the process beside that.
    let attributes: [(name: String, value: String)]
    /// PEM file with the authorities to trust instead of the system's.
    let authoritiesFile: String?

    /// Where they go, to be shown: without a log-in and without a query, either of which may be a key.
    package var place: String {
        let head = endpoint.prefix { $0 != "?" && $0 != "#" }
        guard let mark = head.firstRange(of: "://") else { return "" }
        let rest = head[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        return "\(head[..<mark.upperBound])\(host)\(rest[authority.endIndex...])"
    }

    /// Nil where nobody has asked for traces, which is so where no endpoint is named; every fault at once.
    package static func read(_ environment: [String: String]) throws(ConfigurationFaults) -> TracingSettings? {
        var reader = OpenTelemetryReader(environment)
        let settings = reader.settings()
        guard reader.faults.isEmpty else { throw ConfigurationFaults(faults: reader.faults) }
        return settings
    }
}
