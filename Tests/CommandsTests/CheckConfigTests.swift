import CommandLineSupport
import Foundation
import ServiceRuntime
import TestSupport
import Testing

@testable import Commands

@Suite("bellhop check-config")
struct CheckConfigTests {
    private let secret = "correct-horse"

    @Test("secrets are masked in text and JSON", arguments: [[], ["--json"]])
    func masking(options: [String]) async {
        let prompt = Prompt(environment: [
            "BELLHOP_AMQP_URL": "amqp://bellhop:\(secret)@mq1/prod",
            "BELLHOP_DATABASE_URL": "postgres://bellhop:\(secret)@db1/bellhop",
            "BELLHOP_MANAGEMENT_URL": "http://bellhop:\(secret)@mq1:15672",
        ])
        let answer = await prompt.run(["check-config"] + options)
        #expect(answer.code == .done)
        #expect(!answer.output.contains(secret))
        #expect(answer.output.contains("amqp://bellhop:***@mq1/prod"))
    }

    @Test("check-config shows the traces' destination and every fault of their settings")
    func traces() async {
        let none = await Prompt().run("check-config")
        #expect(none.output.contains("traces:     none"))
        let prompt = Prompt().with("OTEL_EXPORTER_OTLP_ENDPOINT", "http://ada:\(secret)@collector:4318")
        let some = await prompt.run("check-config")
        #expect(some.output.contains("collector:4318/v1/traces"))
        #expect(!some.output.contains(secret))
        let wrong = await prompt.with("OTEL_TRACES_SAMPLER", "sometimes").run("check-config")
        #expect(wrong.code == .configuration)
        #expect(wrong.complaints.contains("OTEL_TRACES_SAMPLER (environment)"))
    }

    @Test("a secret can come from a file that the environment or the command line names")
    func secretFile() async throws {
        try await CommandFolder.with { folder in
            let file = folder.appendingPathComponent("amqp-url")
            try Data("amqp://bellhop:\(secret)@mq7/prod\n".utf8).write(to: file)
            let flag = await Prompt().run("check-config", "--amqp-url-file", file.path)
            let environment = await Prompt().with("BELLHOP_AMQP_URL_FILE", file.path).run("check-config")
            for answer in [flag, environment] {
                #expect(answer.code == .done)
                #expect(answer.output.contains("amqp://bellhop:***@mq7/prod"))
            }
        }
    }

    @Test("a secret file that every user can read gets a warning", arguments: [0o644, 0o602, 0o640, 0o400])
    func openSecret(rights: Int) async throws {
        try await CommandFolder.with { folder in
            let file = folder.appendingPathComponent("amqp-url")
            try Data("amqp://bellhop:\(secret)@mq7/prod\n".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: rights], ofItemAtPath: file.path)
            let answer = await Prompt().with("BELLHOP_AMQP_URL_FILE", file.path).run("check-config")
            #expect(answer.code == .done)
            let warns = answer.output.contains("\(file.path) holds a secret")
            #expect(warns == (rights & 0o006 != 0))
        }
    }

    @Test(
        "a remote database without server verification gets a warning",
        arguments: [
            ("postgres://b@db1/bellhop", true), ("postgres://b@db1/bellhop?sslmode=require", true),
            ("postgres://b@localhost,db2/bellhop", true), ("postgres://b@db1/bellhop?sslmode=verify-full", false),
            ("postgres://b@localhost/bellhop", false), ("postgres://b@127.0.0.1/bellhop", false),
            ("postgres:///bellhop?host=/run/postgresql", false),
        ]
    )
    func overheardDatabase(_ url: String, _ warns: Bool) async {
        let answer = await Prompt().with("BELLHOP_DATABASE_URL", url).run("check-config")
        #expect(answer.code == .done)
        #expect(answer.output.contains("write verify-full") == warns)
    }

    @Test("the apps whose users may follow every topic are listed")
    func anyTopic() async throws {
        let prompt = Prompt().with("BELLHOP_CATALOGS", Checkout.file("deploy/catalogs").path)
        let answer = await prompt.run("check-config")
        #expect(answer.code == .done)
        #expect(answer.output.contains("follows:    users may follow any topic of daily, drop, padel"))
    }

    @Test("a token key that names no apps gets a warning if there are several apps")
    func unboundKey() async throws {
        try await CommandFolder.with { folder in
            let set = folder.appendingPathComponent("set").path
            let key = folder.appendingPathComponent("key").path
            _ = await Prompt().run("keys", "tokens", "--out", key, "--set", set)
            let prompt = Prompt().with("BELLHOP_JWT_KEYS", set)
            let alone = await prompt.run("check-config")
            #expect(alone.code == .done && !alone.output.contains("every app"))
            let many = prompt.with("BELLHOP_CATALOGS", Checkout.file("deploy/catalogs").path)
            let answer = await many.run("check-config")
            #expect(answer.code == .done)
            #expect(answer.output.contains("may sign for the users of every app"))
            let text = try String(contentsOfFile: set, encoding: .utf8)
            let bound = text.replacing("\"kid\"", with: "\"apps\": [\"drop\"], \"kid\"")
            try Data(bound.utf8).write(to: URL(fileURLWithPath: set))
            let quiet = await many.run("check-config")
            #expect(quiet.code == .done && !quiet.output.contains("every app"), "\(quiet)")
        }
    }

    @Test("the issuers of a file are listed, with a warning for each that may sign in users of every app")
    func issuers() async throws {
        try await CommandFolder.with { folder in
            let file = folder.appendingPathComponent("sign-in.json5")
            let text = """
                {issuers: [
                    {issuer: "https://a.example", audience: "x", keys: "https://a.example/keys", app: "padel"},
                    {issuer: "https://b.example", audience: "x", keys: "https://b.example/keys"},
                    {issuer: "https://c.example", audience: "x", keys: "https://c.example/keys", app: "nosuch"},
                ]}
                """
            try Data(text.utf8).write(to: file)
            let prompt = Prompt().with("BELLHOP_SIGN_IN", file.path)
                .with("BELLHOP_CATALOGS", Checkout.file("deploy/catalogs").path)
            let answer = await prompt.run("check-config")
            #expect(answer.code == .done)
            #expect(answer.output.contains("https://a.example for padel, keys from https://a.example/keys"))
            #expect(!answer.output.contains("no inbox API starts without"))
            let warnings = answer.output.split(separator: "\n").filter { $0.hasPrefix("warning:") }
            let isOfFirst = warnings.contains { $0.contains("a.example") }
            #expect(warnings.count == 2 && !isOfFirst, "\(warnings)")
            let json = await prompt.run("check-config", "--json")
            #expect(json.output.contains(#""audience":["x"],"app":"padel","user":"/sub","appClaim":"/app""#))
        }
    }

    @Test("faults of the file of issuers are reported with those of the settings")
    func issuerFaults() async throws {
        try await CommandFolder.with { folder in
            let file = folder.appendingPathComponent("sign-in.json5")
            try Data("{issuers: [{issuer: \"x\", audience: 7, keys: \"http://a.example\"}]}".utf8).write(to: file)
            let prompt = Prompt(environment: ["BELLHOP_RETRY_LIMIT": "0", "BELLHOP_SIGN_IN": file.path])
            let answer = await prompt.run("check-config")
            #expect(answer.code == .configuration)
            for word in ["BELLHOP_RETRY_LIMIT", "/issuers/0/audience", "/issuers/0/keys"] {
                #expect(answer.complaints.contains(word))
            }
        }
    }

    @Test("several VAPID keys without a default get a warning that names the first, and no warning with one")
    func defaultVAPIDKey() async throws {
        try await CommandFolder.with { folder in
            for name in ["old", "new"] {
                _ = await Prompt().run("keys", "vapid", "--out", folder.appendingPathComponent("\(name).pem").path)
            }
            let file = folder.appendingPathComponent("providers.json5")
            let prompt = Prompt().with("BELLHOP_PROVIDERS", file.path)
            func warnings(_ keys: [String], _ more: String = "") async throws -> [Substring] {
                let list = keys.map { "{ id: \"\($0)\", privateKeyFile: \"\(folder.path)/\($0).pem\" }" }
                let web = "subject: \"mailto:ops@example.com\", keys: [\(list.joined(separator: ", "))]\(more)"
                try Data("{ padel: { webpush: { \(web) } } }".utf8).write(to: file)
                let answer = await prompt.run("check-config")
                #expect(answer.code == .done, "\(answer.complaints)")
                return answer.output.split(separator: "\n").filter { $0.contains("VAPID") }
            }
            let newFirst = try await warnings(["new", "old"])
            let words = "BELLHOP_PROVIDERS: padel has 2 VAPID keys and no defaultKey, so the first (new) is used for "
            #expect(newFirst.count == 1 && newFirst.first?.contains(words) == true, "\(newFirst)")
            #expect(try await warnings(["new", "old"], ", defaultKey: \"old\"").isEmpty)
            #expect(try await warnings(["old"]).isEmpty)
        }
    }

    @Test("a lease shorter than twice the longest request gets a warning", arguments: [("20s", true), ("60s", false)])
    func shortLease(_ lease: String, _ warns: Bool) async throws {
        try await CommandFolder.with { folder in
            let file = folder.appendingPathComponent("providers.json5")
            try Data("{}".utf8).write(to: file)
            let prompt = Prompt().with("BELLHOP_PROVIDERS", file.path).with("BELLHOP_LEASE", lease)
            let answer = await prompt.run("check-config")
            #expect(answer.code == .done)
            #expect(answer.output.contains("BELLHOP_LEASE is shorter than 60s") == warns)
        }
    }

    @Test("every fault is reported together")
    func faults() async {
        let prompt = Prompt(environment: ["BELLHOP_BACTH": "3", "BELLHOP_RETRY_LIMIT": "0"])
        let answer = await prompt.run("check-config", "--retry-delays", "2m,1m")
        #expect(answer.code == .configuration)
        for word in ["did you mean BELLHOP_BATCH?", "BELLHOP_RETRY_LIMIT", "--retry-delays"] {
            #expect(answer.complaints.contains(word))
        }
    }

    @Test("faults of catalogues and providers are reported together")
    func fileFaults() async throws {
        try await CommandFolder.withPrompt { prompt, folder in
            let catalog = folder.appendingPathComponent("catalogs/broken.json5")
            try Data("{app: 7}".utf8).write(to: catalog)
            let providers = folder.appendingPathComponent("providers.json5")
            try Data("{drop: {fcm: {windw: 3}}}".utf8).write(to: providers)
            let answer = await prompt.run("check-config", "--providers", providers.path)
            #expect(answer.code == .configuration)
            #expect(answer.complaints.contains("broken.json5"))
            #expect(answer.complaints.contains("/drop/fcm/windw"))
        }
    }

    @Test("a fault of the settings hides no fault of catalogues and providers")
    func allFaults() async throws {
        try await CommandFolder.withPrompt { prompt, folder in
            let catalog = folder.appendingPathComponent("catalogs/broken.json5")
            try Data("{app: 7}".utf8).write(to: catalog)
            let providers = folder.appendingPathComponent("providers.json5")
            try Data("{drop: {fcm: {windw: 3}}}".utf8).write(to: providers)
            let wrong = prompt.with("BELLHOP_BATCH", "0").with("BELLHOP_NAMESPACE", "Not One")
            let answer = await wrong.run("check-config", "--providers", providers.path)
            #expect(answer.code == .configuration)
            for word in ["BELLHOP_BATCH", "BELLHOP_NAMESPACE", "broken.json5", "/drop/fcm/windw"] {
                #expect(answer.complaints.contains(word), "\(answer.complaints)")
            }
        }
    }

    @Test("an unreadable catalogue hides no fault of another")
    func unreadable() async throws {
        try await CommandFolder.withPrompt { prompt, folder in
            let catalogs = folder.appendingPathComponent("catalogs")
            let nested = catalogs.appendingPathComponent("folder.json5")
            try FileManager.default.createDirectory(at: nested, withIntermediateDirectories: true)
            let alone = await prompt.run("check-config")
            #expect(alone.code == .configuration)
            #expect(alone.complaints.contains("have a fault; correct it:\nfolder.json5: cannot be read"))
            try Data("{app: 7}".utf8).write(to: catalogs.appendingPathComponent("broken.json5"))
            let both = await prompt.run("check-config")
            #expect(both.complaints.contains("folder.json5: cannot be read"))
            #expect(both.complaints.contains("broken.json5:1:2: /app"))
            try FileManager.default.removeItem(at: catalogs)
            #expect(await prompt.run("check-config").code == .configuration)
        }
    }

    @Test("an app's time zone that is missing in the tz database is a fault")
    func misspeltZone() async throws {
        try await CommandFolder.withPrompt { prompt, folder in
            let catalog = folder.appendingPathComponent("catalogs/drop.json5")
            let text = try String(contentsOf: catalog, encoding: .utf8).replacing("Europe/Oslo", with: "Europe/Olso")
            try Data(text.utf8).write(to: catalog)
            let answer = await prompt.run("check-config")
            #expect(answer.code == .configuration)
            #expect(answer.complaints.contains("/timezone: the tz database of this machine has no Europe/Olso"))
        }
    }

    @Test("every provider of an app is listed, including the mail relay")
    func namesProviders() async throws {
        try await CommandFolder.withPrompt { prompt, folder in
            let example = Checkout.file("deploy/providers.example.json5")
            let text = try String(contentsOf: example, encoding: .utf8)
            // Uses the only section of the example whose key can be made up.
            let section = try #require(text.firstMatch(of: /\n    (email: \{(?:.|\n)*?\n    \},)\n/))
            let providers = folder.appendingPathComponent("providers.json5")
            try Data("{drop: {expo: {}, \(section.output.1)}}".utf8).write(to: providers)
            let keys = folder.appendingPathComponent("keys")
            try FileManager.default.createDirectory(at: keys, withIntermediateDirectories: true)
            for name in ["mail-password", "unsubscribe.key"] {
                try Data(String(repeating: "k", count: 40).utf8).write(to: keys.appendingPathComponent(name))
            }
            let answer = await prompt.run("check-config", "--providers", providers.path)
            #expect(answer.code == .done, "\(answer.complaints)")
            #expect(answer.output.contains("providers:  drop (expo, email)"))
        }
    }

    @Test("missing settings are reported with their consequences")
    func nothing() async throws {
        let answer = await Prompt().run("check-config")
        #expect(answer.code == .done)
        #expect(answer.output.contains("catalogues: none configured"))
        #expect(answer.output.contains("providers:  none configured"))
        try await CommandFolder.withPrompt { prompt, _ in
            #expect(await prompt.run("check-config").output.contains("catalogues: drop ("))
        }
    }
}
