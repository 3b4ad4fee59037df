import BellhopRules
import Cryptography
import Push
import Sandbox
import Testing

/// A sandbox with browsers, and padel's sender to them as a providers' file describes it.
struct BrowserCounterpart: SandboxCounterpart {
    let sandbox: ProviderSandbox
    let senders: PushSenders
    let sender: any PushSender
    /// The public halves of its keys `main` and `next`.
    let publicKeys: [String: String]

    /// What the file says beside keys and subject.
    static let testing = "allowPrivateAddresses: true, "

    /// Runs `body` against a fresh sandbox, and ends everything afterwards.
    static func run(
        _ settings: String = testing,
        _ body: (BrowserCounterpart) async throws -> Void
    ) async throws {
        try await run(making: { try BrowserCounterpart($0, settings) }, body)
    }

    private init(_ sandbox: ProviderSandbox, _ settings: String) throws {
        self.sandbox = sandbox
        let folder = try TemporaryFolder()
        var publicKeys: [String: String] = [:]
        for name in ["main", "next"] {
            let key = try PrivateKey.generateP256()
            _ = try folder.write("\(name).pem", try key.pem())
            publicKeys[name] = Base64URL.encode(try key.p256Point())
        }
        self.publicKeys = publicKeys
        let text = """
            { padel: { webpush: {
              subject: "mailto:ops@example.com", \(settings)
              keys: [{id: "main", privateKeyFile: "main.pem"}, {id: "next", privateKeyFile: "next.pem"}],
              allowedHosts: ["localhost"], endpointPort: \(sandbox.address.port), caFile: "\(sandbox.caFile)",
            } } }
            """
        senders = try Self.described(by: text, in: folder)
        let padel = try #require(AppID(validating: "padel"))
        sender = try #require(senders.senders[padel]?[.webpush])
    }

    /// A message to a browser that subscribes just now, with the key of this name if any.
    func message(key: String? = nil, notification: UInt64 = 0xAB) throws -> PushMessage {
        var subscription = try sandbox.makeWebPushSubscription(
            applicationServerKey: key.flatMap { publicKeys[$0] }
        )
        subscription["vapidKeyID"] = key.map(JSONValue.string)
        return try Browsers.message(to: subscription, notification: notification)
    }

    func messages(_ count: Int) throws -> [PushMessage] {
        try (0..<count).map { try message(notification: UInt64($0)) }
    }
}

extension ReceivedRequest {
    /// What the service worker gets.
    var payload: JSONValue? { body["payload"] }
}
