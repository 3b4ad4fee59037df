import BellhopRules
import Push
import Sandbox
import ServiceRuntime
import TestSupport
import Testing

/// A provider sandbox of a test's own, and drop's sender to it as a providers' file describes it.
struct Counterpart {
    let sandbox: ProviderSandbox
    let senders: PushSenders
    let fcm: any PushSender

    /// Runs `body` against a fresh sandbox, and ends everything afterwards.
    static func run(trusting: Bool = true, _ body: (Counterpart) async throws -> Void) async throws {
        let sandbox = try await ProviderSandbox.start()
        do {
            let counterpart = try Counterpart(sandbox, trusting: trusting)
            do {
                try await body(counterpart)
                await counterpart.senders.close()
            } catch {
                await counterpart.senders.close()
                throw error
            }
            await sandbox.stop()
        } catch {
            await sandbox.stop()
            throw error
        }
    }

    private init(_ sandbox: ProviderSandbox, trusting: Bool) throws {
        self.sandbox = sandbox
        let folder = try TemporaryFolder()
        _ = try folder.write("account.json", sandbox.serviceAccountJSON)
        let authorities = trusting ? #", caFile: "\#(sandbox.caFile)""# : ""
        let settings = #"serviceAccount: "account.json", endpoint: "\#(sandbox.fcmEndpoint)"\#(authorities)"#
        let text = "{ drop: { fcm: { \(settings) } } }"
        let file = try folder.write("providers.json5", Array(text.utf8))
        senders = try PushSenders(
            ProviderConfiguration.read(file: file),
            surroundings: .init(logger: Logger(label: "push", sink: CapturedLog()))
        )
        let drop = try #require(AppID(validating: "drop"))
        fcm = try #require(senders.senders[drop]?[.fcm])
    }

    func received(_ provider: ProviderName) -> Int {
        sandbox.summary.providers[provider]?.received ?? 0
    }
}
