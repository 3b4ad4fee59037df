import Foundation
import ServiceRuntime

extension BellhopConfiguration {
    /// Reads the whole configuration, or reports all of its faults.
    ///
    /// - Parameters:
    ///   - flags: settings from the command line, by name without dashes: `amqp-url`.
    ///   - environment: the environment of the process.
    ///   - file: the JSON5 file; `nil` takes it from the flag `config` or from `BELLHOP_CONFIG`.
    ///   - required: settings that the current command requires.
    ///   - files: settings whose files the current command reads, in addition to the required ones; `nil` means all.
    /// - Returns: the configuration, or all its faults.
    package static func read(
        flags: [String: String] = [:],
        environment: [String: String] = ProcessInfo.processInfo.environment,
        file: String? = nil,
        required: Set<Setting> = [],
        files: Set<Setting>? = nil
    ) -> Result<BellhopConfiguration, ConfigurationFaults> {
        let named = environment[Setting.config.environmentName].flatMap { $0.isEmpty ? nil : $0 }
        var reader = ConfigurationReader(
            flags: flags,
            environment: environment,
            file: file ?? flags[Setting.config.flagName] ?? named,
            required: required,
            files: files
        )
        reader.refuseUnknownNames(known: Setting.all)
        let configuration = BellhopConfiguration(reader: &reader)
        guard reader.faults.isEmpty else {
            return .failure(ConfigurationFaults(faults: reader.faults, rest: configuration))
        }
        return .success(configuration)
    }

    /// Reads all settings.
    ///
    /// An invalid setting gets its default or none, and a fault in the reader.
    private init(reader: inout ConfigurationReader) {
        _ = reader.string(.config)
        amqpURL = reader.url(.amqpURL, schemes: ["amqp", "amqps"])
        databaseURL = reader.url(.databaseURL, schemes: ["postgres", "postgresql"])
        namespace = reader.namespace()
        catalogs = reader.path(.catalogs, of: .folder)
        providers = reader.path(.providers, of: .file)
        apiListen = reader.address(.apiListen, default: .loopback(8_080))
        consoleListen = reader.address(.consoleListen, default: .loopback(8_081))
        consoleOrigin = reader.consoleOrigin()
        docsURL = reader.docsURL()
        metricsListen = reader.address(.metricsListen, default: .loopback(9_464))
        managementURL = reader.url(.managementURL, schemes: ["http", "https"])
        listenURL = reader.url(.listenURL, schemes: ["postgres", "postgresql"]) ?? databaseURL
        relayURL = reader.url(.relayURL, schemes: ["postgres", "postgresql"])
        signIn = reader.path(.signIn, of: .file)
        jwtKeys = reader.path(.jwtKeys, of: .file)
        jwtAudience = reader.string(.jwtAudience, default: "bellhop") ?? "bellhop"
        jwtIssuer = reader.string(.jwtIssuer)
        apiOrigins = reader.apiOrigins()
        apiRate = reader.apiRate()
        apiProxies = reader.apiProxies()
        apiConnections = reader.apiConnections()
        operators = reader.path(.operators, of: .file)
        publishers = reader.path(.publishers, of: .file)
        retryDelays = reader.retryDelays() ?? []
        retryLimit = reader.integer(.retryLimit, in: 1...100, default: 8)
        prefetch = reader.prefetch()
        batch = reader.integer(.batch, in: 1...1_024, default: 256)
        drainTimeout = reader.duration(.drainTimeout, in: .seconds(1) ... .seconds(3_600), default: .seconds(20))
        hangTimeout = reader.duration(.hangTimeout, in: .seconds(5) ... .seconds(86_400), default: .seconds(30))
        lease = reader.duration(.lease, in: .seconds(1) ... .seconds(600), default: .seconds(60))
        handOverRate = reader.integer(.handOverRate, in: 1...100_000, default: 1_000)
        replayHorizon = reader.duration(
            .replayHorizon,
            in: .seconds(3_600) ... .seconds(3_650 * 86_400),
            default: .seconds(30 * 86_400)
        )
        deadLetterRetention = reader.deadLetterRetention()
        let lateness = LateArrival(replayHorizon: replayHorizon, retryDelays: retryDelays, retryLimit: retryLimit)
        replayLead = lateness.lead
        retention = reader.retention(lateness)
        staleDevices = reader.staleDevices()
        wideEventAge = reader.duration(
            .wideEventAge,
            in: .seconds(60) ... .seconds(365 * 86_400),
            default: .seconds(86_400)
        )
        log = reader.log(.log, default: LogSettings(level: .info, form: .text))
        effective = reader.effective
    }
}

extension ListenAddress {
    fileprivate static func loopback(_ port: UInt16) -> ListenAddress {
        ListenAddress(host: "127.0.0.1", port: port)
    }
}

extension ConfigurationReader {
    fileprivate mutating func namespace() -> Namespace {
        let expected = "a small letter, then at most 40 small letters, digits or underscores, not beginning with pg_"
        return read(.namespace, expected: expected, default: "\(Namespace.usual)") { Namespace($0) } ?? .usual
    }

    fileprivate mutating func prefetch() -> Prefetch {
        let usual = Prefetch(usual: 2_048, urgent: 256)
        let expected = "1 to 65535, such as 1024 or 1024,urgent=256"
        return read(.prefetch, expected: expected, default: "\(usual)") { Prefetch($0) } ?? usual
    }

    fileprivate mutating func deadLetterRetention() -> DeadLetterRetention? {
        read(.deadLetterRetention, expected: "a span from 1d to 3650d, such as 90d or 90d,unexported") {
            DeadLetterRetention($0)
        }
    }

    /// Reads the retention periods, with a separate fault for each kind that is deleted too early.
    fileprivate mutating func retention(_ lateness: LateArrival) -> Retention {
        let expected =
            "spans from 1d to 3650d, or never, such as notifications=365d,events=90d,tombstones=90d,tokens=32d"
        let read = read(.retention, expected: expected, default: Retention.usual.text) { Retention($0) }
        guard let retention = read?.reaching(lateness) else { return .usual }
        for shortfall in retention.shortfalls(lateness) {
            refuse(
                .retention,
                found: shortfall.found,
                expected: shortfall.expected,
                "keep them for longer, or lower \(Setting.replayHorizon.environmentName)"
            )
        }
        return retention
    }

    fileprivate mutating func apiOrigins() -> [WebOrigin] {
        let expected = "origins as browsers write them, such as https://app.example.com,https://www.example.com"
        return read(.apiOrigins, expected: expected) { text -> [WebOrigin]? in
            let texts = text.split(separator: ",", omittingEmptySubsequences: false)
            let origins = texts.compactMap { WebOrigin($0.trimmingCharacters(in: .whitespaces)) }
            return origins.count == texts.count ? origins : nil
        } ?? []
    }

    fileprivate mutating func consoleOrigin() -> WebOrigin? {
        read(.consoleOrigin, expected: "an origin as browsers write it, such as https://bellhop.example.com") {
            WebOrigin($0)
        }
    }

    fileprivate mutating func docsURL() -> String? {
        let expected =
            "an http or https URL of the folder that contains docs, without a query, such as "
            + "https://git.example.com/bellhop/blob/main"
        return read(.docsURL, expected: expected) { text -> String? in
            guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host?.isEmpty == false,
                url.user == nil, url.password == nil, url.query == nil, url.fragment == nil,
                text.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            else { return nil }
            return String(text.reversed().drop { $0 == "/" }.reversed())
        }
    }

    fileprivate mutating func apiRate() -> CallRates {
        let expected = "rates per second from 1/s to 100000/s, or off, such as user=20/s,address=200/s"
        return read(.apiRate, expected: expected, default: CallRates.usual.text) { CallRates($0) } ?? .usual
    }

    fileprivate mutating func apiProxies() -> [AddressRange] {
        let expected = "addresses or ranges of them, such as 10.0.0.0/8,192.0.2.7,fd00::/8"
        return read(.apiProxies, expected: expected) { text -> [AddressRange]? in
            let texts = text.split(separator: ",", omittingEmptySubsequences: false)
            let ranges = texts.compactMap { AddressRange($0.trimmingCharacters(in: .whitespaces)) }
            return ranges.count == texts.count ? ranges : nil
        } ?? []
    }

    fileprivate mutating func apiConnections() -> ConnectionLimits {
        let expected = "numbers from 1 to 100000, such as total=16384,address=512, or off in place of the second"
        return read(.apiConnections, expected: expected, default: ConnectionLimits.usual.text) { ConnectionLimits($0) }
            ?? .usual
    }

    fileprivate mutating func staleDevices() -> StaleDevicePolicy? {
        let expected = "1d to 3650d, such as 90d or 90d,hour=4, or never"
        let read = read(.staleDevices, expected: expected, default: "90d") { text -> StaleDevicePolicy?? in
            text == "never" ? .some(nil) : StaleDevicePolicy(text).map(Optional.some)
        }
        return read.flatMap { $0 }
    }

    /// Reads the retry tiers.
    ///
    /// Each tier becomes a queue with a fixed time to live, so that at most ten increasing spans in whole milliseconds
    /// are possible.
    fileprivate mutating func retryDelays() -> [Duration]? {
        list(
            .retryDelays,
            expected: "up to 10 rising spans from 1s to 1d, such as 10s,30s,2m",
            default: "10s,30s,2m,10m,1h",
            parse: { Duration(text: $0) },
            accept: { spans in
                let isRising = zip(spans, spans.dropFirst()).allSatisfy { $0 < $1 }
                let isInRange = spans.allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(86_400) }
                return spans.count <= 10 && isRising && isInRange
            }
        )
    }
}
