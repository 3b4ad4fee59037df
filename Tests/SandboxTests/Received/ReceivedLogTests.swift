import ServiceRuntime
import Testing

@testable import Sandbox

@Suite("The log of received requests")
struct ReceivedLogTests {
    private func append(_ count: Int, bytes: Int = 10, to log: ReceivedLog) {
        for _ in 0..<count {
            var block = HeaderBlock()
            block.append(name: ":path", value: "/")
            let request = HTTP2Request(connection: 1, headers: block, body: [UInt8](repeating: 0x78, count: bytes))
            let judgement = ProviderDecision { StandInAnswer(http: .json(200, []), reason: nil) }
            log.append(.init(at: .epoch, provider: .fcm, request: request, judgement: judgement, answer: nil))
        }
    }

    @Test("the log keeps the latest requests, up to a number")
    func keepsTheLatest() {
        let log = ReceivedLog(.init(requests: 100, bytes: .max))
        append(5_000, to: log)
        #expect(log.requests().map(\.number) == Array(4_901...5_000))
        #expect(log.summary.total == 5_000)
        #expect(log.summary.kept == 100)
    }

    @Test("the log keeps the latest requests, up to a total size")
    func keepsWithinBytes() {
        let log = ReceivedLog(.init(requests: 1_000, bytes: 100_000))
        append(50, bytes: 20_000, to: log)
        #expect(log.requests().map(\.number) == [47, 48, 49, 50])
    }

    @Test("the log continues its numbers after it was cleared")
    func countsOn() {
        let log = ReceivedLog(.init(requests: 10, bytes: .max))
        append(3, to: log)
        log.removeAll()
        append(1, to: log)
        #expect(log.requests().map(\.number) == [4])
        #expect(log.summary.total == 1)
    }
}
