import BellhopRules
import Push
import Sandbox
import ServiceRuntime
import TestSupport
import Testing

/// A separate provider sandbox, and senders of two apps to its APNs, as a providers' file describes them.
struct ApplePeer: SandboxPeer {
    let sandbox: ProviderSandbox
    let senders: PushSenders
    /// The sender of drop.
    let apns: any PushSender
    /// The clock of both sides.
    let time: ManualTime

    /// Runs `body` against a fresh sandbox, and ends everything afterwards.
    static func run(
        trusting: Bool = true,
        settings: String = "",
        _ change: (inout SandboxOptions) -> Void = { _ in },
        _ body: (ApplePeer) async throws -> Void
    ) async throws {
        var options = SandboxOptions()
        // Certificates must be valid by the real clock; the test's clock starts there.
        let time = ManualTime(SystemTime().now())
        options.time = time
        options.apnsTopics = ["com.example.drop", "com.example.safe"]
        change(&options)
        try await run(options, making: { try ApplePeer($0, time, trusting: trusting, settings) }, body)
    }

    private init(_ sandbox: ProviderSandbox, _ time: ManualTime, trusting: Bool, _ more: String) throws {
        self.sandbox = sandbox
        self.time = time
        let folder = try TemporaryFolder()
        let key = sandbox.apnsKey
        _ = try folder.write("key.p8", key.p8)
        let authorities = trusting ? #"caFile: "\#(sandbox.caFile)","# : ""
        let settings = """
            key: "key.p8", keyID: "\(key.keyID)", teamID: "\(key.teamID)", endpoint: "\(sandbox.apnsEndpoint)",
            sandboxEndpoint: "\(sandbox.apnsSandboxEndpoint)", \(authorities) \(more)
            """
        let text = """
            {
              drop: { apns: { topic: "com.example.drop", \(settings) } },
              safe: { apns: { topic: "com.example.safe", \(settings) } },
            }
            """
        senders = try Self.described(by: text, in: folder, time: time)
        apns = try Self.sender(of: "drop", in: senders)
    }

    private static func sender(of app: String, in senders: PushSenders) throws -> any PushSender {
        let app = try #require(AppID(validating: app))
        return try #require(senders.senders[app]?[.apns])
    }

    func sender(of app: String) throws -> any PushSender {
        try Self.sender(of: app, in: senders)
    }

    var received: [ReceivedRequest] { sandbox.received(.apns) }
}
