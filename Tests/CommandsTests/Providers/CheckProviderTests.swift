import CommandLineSupport
import Foundation
import Sandbox
import ServiceRuntime
import TestSupport
import Testing

@testable import Commands

@Suite("bellhop check-provider", .limitedConcurrency, .timeLimit(.ofTest))
struct CheckProviderTests {
    /// Runs a body with a prompt for which the sandbox is every provider of drop.
    private static func with(_ body: (Prompt, ProviderSandbox, URL) async throws -> Void) async throws {
        let sandbox = try await ProviderSandbox.start()
        do {
            try await CommandFolder.withPrompt { prompt, folder in
                try Data(sandbox.serviceAccountJSON).write(to: folder.appendingPathComponent("account.json"))
                try Data(sandbox.apnsKey.p8).write(to: folder.appendingPathComponent("key.p8"))
                let text = """
                    {drop: {
                        fcm: {serviceAccount: "account.json", endpoint: "\(sandbox.fcmEndpoint)", caFile: "\(sandbox.caFile)"},
                        apns: {key: "key.p8", keyID: "\(sandbox.apnsKey.keyID)", teamID: "\(sandbox.apnsKey.teamID)",
                               topic: "no.such.app", endpoint: "\(sandbox.apnsEndpoint)",
                               sandboxEndpoint: "\(sandbox.apnsSandboxEndpoint)", caFile: "\(sandbox.caFile)"},
                        expo: {endpoint: "\(sandbox.fcmEndpoint)", caFile: "\(sandbox.caFile)"},
                    }}
                    """
                let file = folder.appendingPathComponent("providers.json5")
                try Data(text.utf8).write(to: file)
                try await body(prompt.with("BELLHOP_PROVIDERS", file.path), sandbox, folder)
            }
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    @Test("correct credentials are reported as such, and FCM is asked without showing a push")
    func right() async throws {
        try await Self.with { prompt, sandbox, _ in
            let answer = await prompt.run("check-provider", "--app", "drop", "--provider", "fcm", "--token", "t1")
            #expect(answer.code == .done)
            #expect(answer.output == "fcm for drop: would accept the message (validated, not sent)")
            guard case .bytes(let body)? = sandbox.received(.fcm).first?.content else {
                Issue.record("nothing arrived at the stand-in")
                return
            }
            #expect(String(decoding: body, as: UTF8.self).hasPrefix(#"{"validate_only":true,"message":{"#))
            let expo = await prompt.run("check-provider", "--app", "drop", "--provider", "expo", "--json")
            #expect(expo.code == .done)
            #expect(expo.output.contains(#""isWell":true"#))
        }
    }

    @Test("a rejection is reported with its reason and with advice")
    func refused() async throws {
        try await Self.with { prompt, sandbox, _ in
            sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 403, reason: "PERMISSION_DENIED")))])
            let answer = await prompt.run("check-provider", "--app", "drop", "--provider", "fcm")
            #expect(answer.code == .answerIsNo)
            #expect(
                answer.output.contains(
                    "rejects our credentials or settings (PERMISSION_DENIED)\n  enable the Firebase Cloud Messaging API"
                )
            )
            sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 404, reason: "UNREGISTERED")))])
            let dead = await prompt.run("check-provider", "--app", "drop", "--provider", "fcm", "--token", "t1")
            #expect(dead.code == .answerIsNo)
            #expect(dead.output.contains("the credentials are right, but the token is no longer valid (UNREGISTERED)"))
            sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 403, reason: "SENDER_ID_MISMATCH")))])
            let foreign = await prompt.run("check-provider", "--app", "drop", "--provider", "fcm", "--token", "t1")
            #expect(foreign.code == .answerIsNo)
            #expect(
                foreign.output.contains(
                    "accepts the credentials, but not for this token (SENDER_ID_MISMATCH)\n  the token"
                )
            )
            sandbox.setFaults([SandboxFault(.fcm, .answer(.init(status: 503)))])
            let away = await prompt.run("check-provider", "--app", "drop", "--provider", "fcm")
            #expect(away.code == .tryAgain)
            // The emulator has no such bundle id.
            let apple = await prompt.run("check-provider", "--app", "drop", "--provider", "apns")
            #expect(apple.code == .answerIsNo)
            #expect(apple.output.hasPrefix("apns for drop: rejects our credentials or settings ("))
        }
    }

    @Test("a check that cannot run reports the missing part")
    func missing() async throws {
        try await Self.with { prompt, _, folder in
            let mail = await prompt.run("check-provider", "--app", "drop", "--provider", "email")
            #expect(mail.code == .usage)
            #expect(mail.complaints.contains("--token is missing: email needs your own address"))
            let relay = await prompt.run("check-provider", "--app", "drop", "--provider", "email", "--token", "a@b.no")
            #expect(relay.code == .configuration)
            #expect(relay.complaints.contains("has no section email for drop"))
            let file = folder.appendingPathComponent("subscription.json").path
            let browser = await prompt.run("check-provider", "--app", "drop", "--provider", "webpush", "--token", file)
            #expect(browser.code == .badInput)
            #expect(browser.complaints.contains("JSON.stringify(subscription)"))
            #expect(await prompt.run("check-provider", "--app", "drop", "--provider", "pigeon").code == .usage)
        }
    }
}
