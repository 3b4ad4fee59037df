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

/// Reads `OTEL_*` and collects every fault; an empty value counts as not set.
struct OpenTelemetryReader {
    private(set) var faults: [ConfigurationFault] = []
    private let environment: [String: String]

    init(_ environment: [String: String]) {
        self.environment = environment.filter { !$0.value.isEmpty }
    }

    mutating func settings() -> TracingSettings? {
        // The variables may be meant for other programs on the machine; without an endpoint, Bellhop ignores them.
        guard environment["OTEL_SDK_DISABLED"]?.lowercased() != "true", value("ENDPOINT") != nil, isWanted(),
            let endpoint = endpoint()
        else { return nil }
        let (headers, timeout, sampler) = (headers(), timeout(), sampler())
        return TracingSettings(
            endpoint: endpoint,
            headers: headers,
            timeout: timeout,
            sampler: sampler,
            service: environment["OTEL_SERVICE_NAME"],
            attributes: pairs("OTEL_RESOURCE_ATTRIBUTES"),
            authoritiesFile: value("CERTIFICATE")?.text
        )
    }

    /// Returns the variable for traces, or otherwise the general one.
    private func value(_ name: String) -> (name: String, text: String)? {
        for name in ["OTEL_EXPORTER_OTLP_TRACES_\(name)", "OTEL_EXPORTER_OTLP_\(name)"] {
            if let text = environment[name] { return (name, text) }
        }
        return nil
    }

    private mutating func isWanted() -> Bool {
        switch environment["OTEL_TRACES_EXPORTER"] {
        case nil, "otlp"?: break
        case "none"?: return false
        case let other?:
            refuse("OTEL_TRACES_EXPORTER", "\"\(other)\" does not fit", "otlp or none")
            return false
        }
        if let (name, text) = value("PROTOCOL"), !["http/json", "http/protobuf"].contains(text) {
            refuse(name, "\"\(text)\" does not fit", "http/json, which is what is spoken")
        }
        return true
    }

    private mutating func endpoint() -> String? {
        guard let (name, text) = value("ENDPOINT") else { return nil }
        let rest = ["http://", "https://"].first(where: text.hasPrefix).map { text.dropFirst($0.count) }
        guard let rest, let first = rest.first, first != "/", text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            refuse(name, "the value (not shown) does not fit", "a URL like http://127.0.0.1:4318")
            return nil
        }
        guard name == "OTEL_EXPORTER_OTLP_ENDPOINT" else { return text }
        return (text.hasSuffix("/") ? String(text.dropLast()) : text) + "/v1/traces"
    }

    private mutating func timeout() -> Duration {
        guard let (name, text) = value("TIMEOUT") else { return .seconds(10) }
        guard let milliseconds = Int(text), (1...600_000).contains(milliseconds) else {
            refuse(name, "\"\(text)\" does not fit", "milliseconds, 1 to 600000")
            return .seconds(10)
        }
        return .milliseconds(milliseconds)
    }

    private mutating func sampler() -> Sampler {
        let (name, argument) = (environment["OTEL_TRACES_SAMPLER"], environment["OTEL_TRACES_SAMPLER_ARG"])
        guard let name else { return .usual }
        if let sampler = Sampler(name, argument: argument) { return sampler }
        let isKnown = Sampler.names.contains(name)
        refuse(
            isKnown ? "OTEL_TRACES_SAMPLER_ARG" : "OTEL_TRACES_SAMPLER",
            "\"\(isKnown ? argument ?? "" : name)\" does not fit",
            isKnown ? "a share from 0 to 1" : Sampler.names.joined(separator: ", ")
        )
        return .usual
    }

    /// Returns the headers; like every secret, a key may be in a separate file.
    private mutating func headers() -> [(name: String, value: Secret)] {
        for name in ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"] {
            if environment[name] != nil { return pairs(name).map { ($0.name, Secret($0.value)) } }
            guard let path = environment[name + "_FILE"] else { continue }
            guard case .success(let bytes) = SmallFile.read(path, atMost: 1 << 16),
                let text = String(validating: bytes, as: UTF8.self)
            else {
                refuse(name + "_FILE", "\"\(path)\" cannot be read", "a readable file of text")
                return []
            }
            return pairs(name, in: text.split(whereSeparator: \.isNewline).joined()).map { ($0.name, Secret($0.value)) }
        }
        return []
    }

    private mutating func pairs(_ name: String) -> [(name: String, value: String)] {
        environment[name].map { pairs(name, in: $0) } ?? []
    }

    /// Parses `a=b,c=d`, percent-encoded.
    private mutating func pairs(_ name: String, in text: String) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for part in text.split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1).map { $0.trimmed }
            guard sides.count == 2, !sides[0].isEmpty, let value = PercentEncoding.decode(sides[1].utf8) else {
                refuse(name, "the value (not shown) does not fit", "name=value, several with commas between")
                return []
            }
            pairs.append((sides[0], value))
        }
        return pairs
    }

    private mutating func refuse(_ name: String, _ found: String, _ expected: String) {
        faults.append(
            ConfigurationFault(
                key: name,
                source: .environment,
                found: found,
                expected: expected,
                whatToDo: "correct it, or unset it"
            )
        )
    }
}

extension Substring {
    fileprivate var trimmed: String {
        let start = drop(while: \.isWhitespace)
        guard let end = start.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(start[...end])
    }
}
