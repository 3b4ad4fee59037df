import Push
import Sandbox
import ServiceRuntime
import TestSupport

/// A separate sandbox, and senders to it as a providers' file describes them.
protocol SandboxPeer {
    var senders: PushSenders { get }
}

extension SandboxPeer {
    /// Runs `body` against a fresh sandbox, and ends everything afterwards.
    static func run(
        _ options: SandboxOptions = SandboxOptions(),
        making make: (ProviderSandbox) throws -> Self,
        _ body: (Self) async throws -> Void
    ) async throws {
        let sandbox = try await ProviderSandbox.start(options)
        let result: Result<Void, any Error>
        do {
            let peer = try make(sandbox)
            do { result = .success(try await body(peer)) } catch { result = .failure(error) }
            await peer.senders.close()
        } catch {
            result = .failure(error)
        }
        await sandbox.stop(grace: .zero)
        try result.get()
    }

    /// Returns the senders that a providers' file with this text in that folder describes.
    static func described(
        by text: String,
        in folder: borrowing TemporaryFolder,
        time: any TimeSource = SystemTime()
    ) throws -> PushSenders {
        try PushSenders(
            ProviderConfiguration.read(file: try folder.write("providers.json5", Array(text.utf8))),
            context: .init(time: time, logger: Logger(label: "push", sink: CapturedLog()))
        )
    }
}
