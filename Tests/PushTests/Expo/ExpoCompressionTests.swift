import Compression
import HTTPTransfer
import Push
import Testing

@Suite("Compressed answers of Expo")
struct ExpoCompressionTests {
    /// Returns the answer with a compressed body and the header for it.
    private static func packed(_ outcome: TransferOutcome) -> TransferOutcome {
        guard case .answered(let answer) = outcome, let body = Gzip.compressed(answer.body) else { return outcome }
        guard case .answered(let shell) = TransferOutcome.answer(200, lines: "Content-Encoding: gzip\r\n") else {
            return outcome
        }
        return .answered(shell.with(body: body))
    }

    @Test("a request accepts gzip, and compressed tickets are read")
    func tickets() async throws {
        let transport = ScriptedTransport { request in (try? Expo.tickets(request)).map(Self.packed) ?? .answer(500) }
        let names = (0..<150).map { "phone-\($0)" }
        let verdicts = await Expo.sender(transport).send(try Expo.batch(names))
        let expected: [Verdict] = names.map { .accepted(ticket: "t-" + Expo.token($0)) }
        #expect(verdicts == expected)
        let asksForGzip = transport.requests.allSatisfy { $0.header("accept-encoding") == "gzip" }
        #expect(asksForGzip)
    }

    @Test("a body that is not gzip, or is too large when expanded, gives no ticket")
    func broken() async throws {
        let bomb = try #require(Gzip.compressed([UInt8](repeating: 0x20, count: 64 << 20)))
        for body in [Array("{}".utf8), bomb, Array(bomb.dropLast(9))] {
            let transport = ScriptedTransport { _ in
                guard case .answered(let shell) = TransferOutcome.answer(200, lines: "content-encoding: gzip\r\n")
                else {
                    return .answer(500)
                }
                return .answered(shell.with(body: body))
            }
            let verdicts = await Expo.sender(transport).send([try Expo.plain()])
            let isAccepted = verdicts.contains { if case .accepted = $0 { true } else { false } }
            #expect(verdicts.count == 1 && !isAccepted, "\(verdicts)")
        }
    }
}
