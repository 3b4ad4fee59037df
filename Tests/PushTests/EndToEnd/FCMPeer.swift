import BellhopRules
import Push
import Sandbox
import Testing

/// A separate provider sandbox, and drop's sender to it as a providers' file describes it.
struct FCMPeer: SandboxPeer {
    let sandbox: ProviderSandbox
    let senders: PushSenders
    let fcm: any PushSender

    /// Runs `body` against a fresh sandbox, and ends everything afterwards.
    static func run(trusting: Bool = true, _ body: (FCMPeer) async throws -> Void) async throws {
        try await run(making: { try FCMPeer($0, trusting: trusting) }, body)
    }

    private init(_ sandbox: ProviderSandbox, trusting: Bool) throws {
        self.sandbox = sandbox
        let folder = try TemporaryFolder()
        _ = try folder.write("account.json", sandbox.serviceAccountJSON)
        let authorities = trusting ? #", caFile: "\#(sandbox.caFile)""# : ""
        let settings = #"serviceAccount: "account.json", endpoint: "\#(sandbox.fcmEndpoint)"\#(authorities)"#
        let text = "{ drop: { fcm: { \(settings) } } }"
        senders = try Self.described(by: text, in: folder)
        let drop = try #require(AppID(validating: "drop"))
        fcm = try #require(senders.senders[drop]?[.fcm])
    }

    func received(_ provider: ProviderName) -> Int {
        sandbox.summary.providers[provider]?.received ?? 0
    }
}
