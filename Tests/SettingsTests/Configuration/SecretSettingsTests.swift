import ServiceRuntime
import Settings
import TestSupport
import Testing

@Suite("Secrets in settings")
struct SecretSettingsTests {
    private static let canary = "hunter2-canary"

    @Test("a secret may come from a file, whose single trailing newline is ignored")
    func fromFile() throws {
        for ending in ["", "\n", "\r\n"] {
            try withTemporaryFile("amqp://u:\(Self.canary)@h" + ending) { path in
                let configuration = try BellhopConfiguration.read(
                    environment: ["BELLHOP_AMQP_URL_FILE": path],
                    required: [.amqpURL]
                ).get()
                #expect(configuration.amqpURL?.revealed == "amqp://u:\(Self.canary)@h")
                #expect(!configuration.describe().contains(Self.canary))
                #expect(configuration.describe().contains("amqp://u:***@h"))
            }
        }
    }

    @Test("an unreadable secret file is one fault, and so is a secret that is set twice")
    func faultyFiles() throws {
        try withTemporaryFile("amqp://h") { path in
            let cases: [([String: String], String)] = [
                (["BELLHOP_AMQP_URL_FILE": "/nowhere/secret"], "cannot be read"),
                (["BELLHOP_AMQP_URL_FILE": "/etc"], "cannot be read"),
                (["BELLHOP_AMQP_URL_FILE": path, "BELLHOP_AMQP_URL": "amqp://h"], "is set too"),
            ]
            for (environment, found) in cases {
                let result = BellhopConfiguration.read(environment: environment, required: [.amqpURL])
                guard case .failure(let faults) = result else {
                    Issue.record("no fault with \(environment)")
                    continue
                }
                #expect(faults.faults.count == 1)
                #expect(faults.description.contains(found))
            }
        }
    }

    @Test("no fault contains a secret")
    func faultsAreDiscreet() throws {
        let environment = [
            "BELLHOP_AMQP_URL": "ampq://u:\(Self.canary)@h", "BELLHOP_DATABASE_URL": Self.canary,
            "BELLHOP_LISTEN_URL": "postgres://u:\(Self.canary) @h", "BELLHOP_MANAGEMENT_URL": "http://",
        ]
        guard case .failure(let faults) = BellhopConfiguration.read(environment: environment) else {
            Issue.record("no fault")
            return
        }
        #expect(faults.faults.count == 4)
        #expect(!faults.description.contains(Self.canary))
        var dumped = ""
        dump(faults, to: &dumped)
        #expect(!dumped.contains(Self.canary))
    }

    @Test("a dump of the whole configuration contains no secret, and its listing has one line per setting")
    func listing() throws {
        let configuration = try BellhopConfiguration.read(
            environment: [
                "BELLHOP_AMQP_URL": "amqp://guest:\(Self.canary)@h",
                "BELLHOP_DATABASE_URL": "postgres://u:\(Self.canary)@h/d",
            ]
        ).get()
        var dumped = ""
        dump(configuration, to: &dumped)
        #expect(!dumped.contains(Self.canary))
        let lines = configuration.describe().split(separator: "\n")
        #expect(lines.count == Setting.all.count)
        #expect(lines.contains { $0.hasPrefix("BELLHOP_BATCH ") && $0.contains(" 256 ") && $0.hasSuffix("default") })
        #expect(lines.contains { $0.contains("amqp://guest:***@h") && $0.hasSuffix("environment") })
        #expect(configuration.listenURL == configuration.databaseURL)
    }
}
