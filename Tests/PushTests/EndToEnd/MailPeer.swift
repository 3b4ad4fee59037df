import BellhopRules
import Push
import Sandbox
import Testing

/// A separate sandbox, and drop's sender of mails to it as a providers' file describes it.
struct MailPeer: SandboxPeer {
    enum Way: CaseIterable {
        case startTLS
        case fromTheStart
    }

    struct Settings {
        var way = Way.startTLS
        var isTrusting = true
        var password: String? = "sandbox-password"
        var connections = 2
    }

    let sandbox: ProviderSandbox
    let senders: PushSenders
    let email: EmailSender

    /// Runs `body` against a fresh sandbox, and ends everything afterwards.
    static func run(
        _ settings: Settings = Settings(),
        _ body: (MailPeer) async throws -> Void
    ) async throws {
        try await run(making: { try MailPeer($0, settings) }, body)
    }

    private init(_ sandbox: ProviderSandbox, _ settings: Settings) throws {
        self.sandbox = sandbox
        let folder = try TemporaryFolder()
        _ = try folder.write("unsubscribe.key", Array(Mails.keyText.utf8))
        let server =
            settings.way == .startTLS ? "smtp://\(sandbox.smtpAddress)" : "smtps://\(sandbox.smtpsAddress)"
        var members = [
            #"server: "\#(server)""#, #"from: "Drøp <no-reply@drop.example>""#, #"linkBase: "https://drop.example""#,
            #"unsubscribe: { url: "https://drop.example/u", keyFile: "unsubscribe.key" }"#,
            "connections: \(settings.connections)",
        ]
        if settings.isTrusting { members.append(#"caFile: "\#(sandbox.caFile)""#) }
        if let password = settings.password {
            _ = try folder.write("password", Array((password + "\n").utf8))
            members.append(#"user: "bellhop", passwordFile: "password""#)
        }
        let text = "{ drop: { email: { \(members.joined(separator: ", ")) } } }"
        senders = try Self.described(by: text, in: folder)
        let drop = try #require(AppID(validating: "drop"))
        email = try #require(senders.emailSenders[drop])
    }

    /// The mails that the server has accepted.
    var taken: [ReceivedRequest] { sandbox.received(.email).filter { $0.answer?.status == 250 } }
}
