import Foundation
import ServiceRuntime
import Settings
import TestSupport
import Testing

@Suite("Configuration")
struct ConfigurationReadingTests {
    private func faults(
        flags: [String: String] = [:],
        environment: [String: String] = [:],
        file: String? = nil,
        required: Set<Setting> = []
    ) -> [ConfigurationFault] {
        let result = BellhopConfiguration.read(flags: flags, environment: environment, file: file, required: required)
        guard case .failure(let faults) = result else { return [] }
        return faults.faults
    }

    @Test("an empty environment gives the documented defaults")
    func defaults() throws {
        let configuration = try BellhopConfiguration.read(environment: ["PATH": "/bin"]).get()
        #expect(configuration.amqpURL == nil)
        #expect(configuration.namespace.name == "bellhop")
        #expect("\(configuration.apiListen) \(configuration.consoleListen)" == "127.0.0.1:8080 127.0.0.1:8081")
        #expect("\(configuration.metricsListen)" == "127.0.0.1:9464")
        #expect(configuration.retryDelays.map(\.shortText) == ["10s", "30s", "2m", "10m", "1h"])
        #expect(configuration.retryLimit == 8)
        #expect(configuration.prefetch == Prefetch(usual: 2_048, urgent: 256))
        #expect(configuration.batch == 256)
        #expect(configuration.drainTimeout == .seconds(20))
        #expect(configuration.replayHorizon == .seconds(30 * 86_400))
        #expect(configuration.deadLetterRetention == nil)
        #expect(configuration.log == LogSettings(level: .info, form: .text))
        #expect(configuration.effective.map(\.setting) == Setting.all)
    }

    @Test("a flag overrides the environment, the environment the file, and the file the default")
    func precedence() throws {
        try withTemporaryFile("{batch: 10, retryLimit: 3, namespace: 'filed',}") { path in
            let configuration = try BellhopConfiguration.read(
                flags: ["batch": "12"],
                environment: ["BELLHOP_BATCH": "11", "BELLHOP_RETRY_LIMIT": "4", "BELLHOP_CONFIG": path]
            ).get()
            #expect(configuration.batch == 12)
            #expect(configuration.retryLimit == 4)
            #expect(configuration.namespace.name == "filed")
            let sources = configuration.effective.reduce(into: [:]) { $0[$1.setting.name] = $1.source }
            #expect(sources["BATCH"] == .flag)
            #expect(sources["RETRY_LIMIT"] == .environment)
            #expect(sources["NAMESPACE"] == .file(path: path))
            #expect(sources["LOG"] == .byDefault)
        }
    }

    @Test("the file accepts numbers, flags, texts and lists")
    func fileForms() throws {
        let text = """
            // A comment.
            { retryDelays: ["1s", '5s', "1m"], batch: 64, drainTimeout: 7, "apiListen": "[::1]:0", log: 'debug,json' }
            """
        try withTemporaryFile(text) { path in
            let configuration = try BellhopConfiguration.read(environment: [:], file: path).get()
            #expect(configuration.retryDelays == [.seconds(1), .seconds(5), .seconds(60)])
            #expect(configuration.batch == 64)
            #expect(configuration.drainTimeout == .seconds(7))
            #expect(configuration.apiListen == ListenAddress(host: "::1", port: 0))
            #expect(configuration.log == LogSettings(level: .debug, form: .json))
        }
    }

    @Test("all faults are reported together, each with its key, its source and the expected form")
    func allAtOnce() {
        let faults = faults(
            flags: ["retry-limit": "many"],
            environment: [
                "BELLHOP_BATCH": "0", "BELLHOP_NAMESPACE": "Big", "BELLHOP_API_LISTEN": "8080", "BELLHOP_LOG": "loud",
                "BELLHOP_DRAIN_TIMEOUT": "soon", "BELLHOP_PREFETCH": "70000", "BELLHOP_RETRY_DELAYS": "10s,5s",
                "BELLHOP_JWT_KEYS": "/nowhere/keys.json", "BELLHOP_CATALOGS": "/etc/hostname",
            ],
            required: [.amqpURL]
        )
        #expect(
            Set(faults.map(\.key)) == [
                "--retry-limit", "BELLHOP_BATCH", "BELLHOP_NAMESPACE", "BELLHOP_API_LISTEN", "BELLHOP_LOG",
                "BELLHOP_DRAIN_TIMEOUT", "BELLHOP_PREFETCH", "BELLHOP_RETRY_DELAYS", "BELLHOP_JWT_KEYS",
                "BELLHOP_CATALOGS", "BELLHOP_AMQP_URL",
            ]
        )
        #expect(faults.count == 11)
        #expect(
            faults.contains { $0.description.contains(#"BELLHOP_BATCH (environment): "0" does not fit, expected"#) }
        )
        #expect(faults.contains { $0.description.contains("a whole number from 1 to 100") && $0.source == .flag })
    }

    @Test("only the settings that a command requires must be set")
    func required() {
        #expect(faults().isEmpty)
        let missing = faults(required: [.amqpURL, .databaseURL])
        #expect(missing.map(\.key) == ["BELLHOP_AMQP_URL", "BELLHOP_DATABASE_URL"])
        #expect(missing.first?.description.contains("BELLHOP_AMQP_URL_FILE") == true)
        #expect(faults(environment: ["BELLHOP_AMQP_URL": ""], required: [.amqpURL]).count == 1)
    }

    @Test(
        "an unknown name is a fault that suggests the nearest known one",
        arguments: [
            ("BELLHOP_AMPQ_URL", "did you mean BELLHOP_AMQP_URL?"), ("BELLHOP_BATCHS", "did you mean BELLHOP_BATCH?"),
            ("BELLHOP_DATABASE_URL_FIEL", "did you mean BELLHOP_DATABASE_URL_FILE?"),
            ("BELLHOP_batch", "did you mean BELLHOP_BATCH?"),
        ]
    )
    func unknownNames(name: String, advice: String) {
        let faults = faults(environment: [name: "x", "OTHER": "y"])
        #expect(faults.map(\.key) == [name])
        #expect(faults.first?.whatToDo.contains(advice) == true)
    }

    @Test("unknown keys of the file and unknown flags are faults too")
    func unknownKeys() throws {
        try withTemporaryFile("{bacth: 3}") { path in
            let faults = faults(flags: ["namespac": "x"], file: path)
            #expect(faults.map(\.key) == ["--namespac", "bacth"])
            #expect(faults.map(\.whatToDo) == ["did you mean --namespace?", "did you mean batch?"])
        }
    }

    @Test(
        "a namespace is valid as a schema and as a prefix",
        arguments: [
            ("bellhop", true), ("a", true), ("a_1", true), ("a" + String(repeating: "b", count: 40), true),
            ("a" + String(repeating: "b", count: 41), false), ("", false), ("1a", false), ("_a", false), ("A", false),
            ("a-b", false), ("a.b", false), ("a\"b", false), ("a b", false), ("é", false), ("a\n", false),
            ("pg_x", false), ("pgx", true),
        ]
    )
    func namespaces(name: String, isFit: Bool) {
        #expect((Namespace(name) != nil) == isFit)
    }

    @Test(
        "an address is a host and a port",
        arguments: [
            ("127.0.0.1:9464", "127.0.0.1:9464"), ("localhost:0", "localhost:0"), ("[::1]:80", "[::1]:80"),
            ("::1:80", nil), ("host", nil), (":80", nil), ("host:", nil), ("host:65536", nil), ("host:-1", nil),
            ("host:+1", nil), ("ho st:1", nil), ("[]:1", nil), ("a/b:1", nil), ("host:1 ", nil), ("host:١", nil),
        ] as [(String, String?)]
    )
    func addresses(text: String, expected: String?) {
        #expect(ListenAddress(text)?.description == expected)
    }

    @Test(
        "the address of the documentation is an http or https URL without a query, and loses its last slash",
        arguments: [
            ("https://git.example.com/bellhop/blob/main/", "https://git.example.com/bellhop/blob/main"),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"), ("javascript:alert(1)", nil), ("docs", nil),
            ("https://ada:secret@example.com", nil), ("https://example.com/?q=", nil), ("https://example.com/#a", nil),
            ("https://example.com/a b", nil),
        ] as [(String, String?)]
    )
    func documentation(text: String, expected: String?) {
        let read = try? BellhopConfiguration.read(environment: ["BELLHOP_DOCS_URL": text]).get()
        #expect(read?.docsURL == expected)
        let isRead = read != nil
        #expect(isRead == (expected != nil))
    }

    @Test("a pool's ports are above the base, and port 0 stays 0")
    func shifted() {
        let base = ListenAddress(host: "h", port: 65_500)
        #expect(base.shifted(by: 35)?.port == 65_535)
        #expect(base.shifted(by: 36) == nil)
        #expect(base.shifted(by: .max) == nil)
        #expect(base.shifted(by: .min) == nil)
        #expect(ListenAddress(host: "h", port: 0).shifted(by: 100)?.port == 0)
    }

    @Test(
        "a prefetch is one number, with or without one for the urgent lane",
        arguments: [
            ("1024", Prefetch(usual: 1_024, urgent: 256)), ("10", Prefetch(usual: 10, urgent: 10)),
            ("10,urgent=900", Prefetch(usual: 10, urgent: 900)), ("0", nil), ("65536", nil), ("10,20", nil),
            ("10,urgent=0", nil), ("10,urgent=1,x", nil), ("", nil), ("-1", nil),
        ] as [(String, Prefetch?)]
    )
    func prefetch(text: String, expected: Prefetch?) {
        #expect(Prefetch(text) == expected)
        if let expected { #expect(Prefetch("\(expected)") == expected) }
    }
}
