import BellhopRules
import Foundation
import HTTPTransfer
import Sandbox
import TestSupport
import Testing

@testable import Push

@Suite("A host's share of the window", .limitedConcurrency, .timeLimit(.ofTest))
struct WindowShareTests {
    @Test("a host that does not answer gets a quarter of the window, and the other hosts continue")
    func slowHost() async throws {
        let (slow, fast) = (try await ProviderSandbox.start(), try await ProviderSandbox.start())
        slow.setFaults([SandboxFault(.webpush, .delay, delay: .seconds(600))])
        let folder = try TemporaryFolder()
        let authorities = try [slow, fast].flatMap { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0.caFile))) }
        let need = TransportNeed(
            kind: .pushes(try #require(AppID(validating: "padel"))),
            endpoint: "webpush",
            reach: ProviderConfiguration.ConnectionSettings(
                authoritiesFile: try folder.write("ca.pem", authorities),
                connections: 2,
                window: 16
            ),
            name: "webpush",
            hostsPerWindow: 4
        )
        let transport = try need.open()
        let waiting = Task { await transport.send(Self.requests(slow)) }
        try await eventually("the slow host has its share") { slow.summary.total == 4 }
        let outcomes = await transport.send(Self.requests(fast))
        let answered = outcomes.count { if case .answered = $0 { true } else { false } }
        #expect(answered == 60)
        #expect(slow.summary.total == 4)
        waiting.cancel()
        _ = await waiting.value
        await transport.close()
        await slow.stop(grace: .zero)
        await fast.stop(grace: .zero)
    }

    private static func requests(_ sandbox: ProviderSandbox) -> [TransferRequest] {
        (0..<60).map { TransferRequest(.post, url: "https://localhost:\(sandbox.address.port)/wp/\($0)") }
    }
}
