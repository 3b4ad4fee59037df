import BellhopRules
import HTTPTransfer
@testable import Push
import ServiceRuntime
import TestSupport
import Testing

@Suite("E-mail in the providers' file")
struct EmailConfigurationTests {
    private static let usual: [String: String] = [
        "server": #""smtp://mail.example:587""#, "from": #""Drop <no-reply@drop.example>""#,
        "linkBase": #""https://drop.example/""#, "unsubscribe": #"{ url: "https://drop.example/u", keyFile: "key" }"#,
    ]

    /// Reads a section with the usual members and these.
    ///
    /// A given member replaces the usual one, and an empty value removes it.
    private func read(_ members: [String: String] = [:]) throws(DocumentFaults) -> ProviderConfiguration.Email? {
        let all = Self.usual.merging(members) { $1 }.filter { !$0.value.isEmpty }
        let section = all.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ",\n")
        guard let folder = try? TemporaryFolder(), let drop = AppID(validating: "drop"),
            (try? folder.write("key", Array(Mails.keyText.utf8))) != nil,
            (try? folder.write("password", Array(" hush hush \n".utf8))) != nil,
            (try? folder.write("short", Array("short".utf8))) != nil, (try? folder.write("empty", [])) != nil,
            let file = try? folder.write("providers.json5", Array("{ drop: { email: { \(section) } } }".utf8))
        else { return nil }
        return try ProviderConfiguration.read(file: file).apps[drop]?.email
    }

    @Test("a minimal section has defaults for all other members")
    func defaults() throws {
        let email = try #require(try read())
        #expect(email.transport.server == ListenAddress(host: "mail.example", port: 587))
        #expect(email.transport.encryption == .startTLS)
        #expect(email.transport.ownName == "drop.example")
        #expect(email.transport.login == nil && email.transport.authoritiesFile == nil)
        #expect(email.transport.connections == 4 && email.window == 4)
        #expect(email.letterhead.linkBase == "https://drop.example")
        #expect(email.letterhead.from.name == "Drop")
    }

    @Test("every member is read, and the password is never shown")
    func full() throws {
        let email = try #require(
            try read([
                "server": #""smtps://[::1]:465""#, "user": #""kari""#, "passwordFile": #""password""#,
                "connections": "2",
                "window": "9",
            ])
        )
        #expect(email.transport.server == ListenAddress(host: "::1", port: 465))
        #expect(email.transport.encryption == .fromTheStart)
        #expect(email.transport.login == .init(user: "kari", password: Secret("hush hush")))
        #expect(email.transport.connections == 2 && email.window == 9)
        var dumped = ""
        dump(email, to: &dumped)
        #expect(!dumped.contains("hush") && !dumped.contains("kkkk"))
    }

    private static let longUnsubscribe =
        #"{ url: "https://"# + String(repeating: "x", count: 400) + #"", keyFile: "key" }"#

    @Test(
        "a fault reports its place",
        arguments: [
            ("server", "", "found no value"), ("server", #""mail.example:587""#, "smtps://HOST:465"),
            ("server", #""http://mail.example:587""#, "smtps://HOST:465"),
            ("server", #""smtp://mail.example""#, "smtps://HOST:465"),
            ("server", #""smtp://user@mail.example:25""#, "smtps://HOST:465"),
            ("server", #""smtp://mail.example:0""#, "smtps://HOST:465"),
            ("from", "", "found no value"), ("from", #""Drop""#, "Name <local@domain>"),
            ("from", #""Drop <å@b>""#, "in ASCII"),
            ("from", #""Drop\nBcc: <a@b>""#, "in ASCII"), ("linkBase", "", "found no value"),
            ("linkBase", #""http://drop.example""#, "https URL"),
            ("user", #""kari""#, "belong together"), ("passwordFile", #""password""#, "belong together"),
            ("unsubscribe", "", "found no value"), ("unsubscribe", "{}", "found no value"),
            ("unsubscribe", "7", "an object"),
            ("unsubscribe", #"{ url: "https://x/u", keyFile: "short" }"#, "32 bytes"),
            ("unsubscribe", #"{ url: "https://x/u", keyFile: "gone" }"#, "does not exist"),
            ("unsubscribe", #"{ url: "http://x/u", keyFile: "key" }"#, "https URL"),
            ("unsubscribe", longUnsubscribe, "400 bytes"),
            ("unsubscribe", #"{ url: "https://x/u", keyFile: "key", ulr: 1 }"#, "did you mean url?"),
            ("connections", "0", "from 1 to 64"), ("window", "0", "from 1 to 10000"),
            ("caFile", #""gone""#, "does not exist"),
            ("sever", "1", "did you mean server?"),
        ]
    )
    func faults(_ key: String, _ value: String, _ words: String) throws {
        do {
            _ = try read([key: value])
            Issue.record("it was taken as it is")
        } catch {
            #expect(error.faults.allSatisfy { $0.pointer.text.hasPrefix("/drop/email/") })
            #expect("\(error)".contains(words), "\(error)")
        }
    }

    @Test("a password file must contain one line with text", arguments: ["empty", "gone"])
    func passwords(_ file: String) throws {
        do {
            _ = try read(["user": #""kari""#, "passwordFile": "\"\(file)\""])
            Issue.record("it was taken as it is")
        } catch {
            #expect(error.faults.map(\.pointer.text) == ["/drop/email/passwordFile"])
        }
    }

    @Test("each app with mails has a separate sender, and closing it ends its transport")
    func senders() async throws {
        let email = try #require(try read())
        let drop = try #require(AppID(validating: "drop"))
        let configuration = ProviderConfiguration(apps: [drop: .init(fcm: nil, email: email)])
        let senders = try PushSenders(
            configuration,
            context: .init(logger: Logger(label: "push", sink: CapturedLog()))
        )
        #expect(senders.senders.isEmpty)
        let sender = try #require(senders.emailSenders[drop])
        #expect(sender.window == 4)
        await senders.close()
        let verdicts = await sender.send([try Mails.message()])
        #expect(verdicts == [.retry(.closed, notBefore: .zero, scope: .message)])
    }

    @Test("an error while a mail transport is opened is reported")
    func failing() throws {
        let email = try #require(try read())
        let drop = try #require(AppID(validating: "drop"))
        #expect(throws: TransferError.self) {
            try PushSenders(
                ProviderConfiguration(apps: [drop: .init(fcm: nil, email: email)]),
                context: .init(logger: Logger(label: "push", sink: CapturedLog())),
                makeMailTransport: { (_) throws(TransferError) in throw TransferError(.invalidOptions, "x") }
            )
        }
    }
}
