import BellhopRules
import Cryptography
import Push
import Sandbox
import Testing

/// A sandbox with browsers, and padel's sender to them as a providers' file describes it.
struct BrowserPeer: SandboxPeer {
    let sandbox: ProviderSandbox
    let senders: PushSenders
    let sender: any PushSender
    /// The public halves of its keys `main` and `next`.
    let publicKeys: [String: String]

    /// Settings of the file in addition to keys and subject.
    static let testing = "allowPrivateAddresses: true, "

    /// Runs `body` against a fresh sandbox, and ends everything afterwards.
    static func run(
        _ settings: String = testing,
        _ body: (BrowserPeer) async throws -> Void
    ) async throws {
        try await run(making: { try BrowserPeer($0, settings) }, body)
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

    /// Returns a message to a newly subscribed browser, with the key of this name if there is one.
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
    /// The payload that the service worker receives.
    var payload: JSONValue? { body["payload"] }
}
