import BellhopRules
import TestSupport
import Testing

@testable import Sandbox

@Suite("Faults of the mail server", .limitedConcurrency, .timeLimit(.ofTest))
struct MailFaultTests {
    @Test("a fault names its step, its answer and its drip, and is shown as it was set")
    func reads() async throws {
        try await withSandbox { client in
            try await client.setFaults(
                """
                [{"provider":"email","phase":"rcpt","status":550,"reason":"5.1.1 Nobody","match":"kari","count":2},
                 {"provider":"email","phase":"end-of-data","drop":true},{"provider":"email","dripMs":5}]
                """
            )
            let shown = try await client.control(.get, "/faults").json
            #expect(shown?.at("0/phase") == "rcpt" && shown?.at("0/status") == 550)
            #expect(shown?.at("1/drop") == true && shown?.at("1/phase") == "end-of-data")
            #expect(shown?.at("2/dripMs") == 5)
        }
    }

    @Test(
        "an unknown step, or a step for another provider, is rejected",
        arguments: [
            (#"{"provider":"email","phase":"helo","drop":true}"#, "/0/phase"),
            (#"{"provider":"fcm","phase":"rcpt","drop":true}"#, "/0/phase"),
            (#"{"provider":"email","partial":true}"#, "/0/partial"), (#"{"provider":"email","dripMs":0}"#, "/0/dripMs"),
        ]
    )
    func refuses(_ fault: String, _ place: String) async throws {
        try await withSandbox { client in
            let answer = try await client.control(.put, "/faults", "[\(fault)]")
            #expect(answer.status == 400)
            #expect(answer.json?.at("error/field")?.string == place)
        }
    }

    @Test("a fault affects only its own step, or the last step if it names none")
    func matches() {
        let last = SandboxFault(.email, .drop)
        let third = SandboxFault(.email, .drop, match: "kari").inDialogue(at: .rcpt)
        for phase in DialoguePhase.allCases {
            #expect(last.matches(.email, token: "x", path: "/", phase: phase) == (phase == .endOfData))
            #expect(third.matches(.email, token: "kari@x", path: "/", phase: phase) == (phase == .rcpt))
            #expect(!third.matches(.email, token: "ola@x", path: "/", phase: phase))
        }
    }
}
