import ServiceRuntime
import Testing

@Suite("Retention of dead letters")
struct DeadLetterRetentionTests {
    @Test("a span keeps what no export has written out; only the explicit word lets that go, too")
    func read() throws {
        let plain = try #require(DeadLetterRetention("90d"))
        #expect(plain.span == .seconds(90 * 86_400))
        #expect(!plain.includesUnexported)
        let explicit = try #require(DeadLetterRetention("7d, unexported"))
        #expect(explicit.includesUnexported)
    }

    @Test(
        "anything else is refused",
        arguments: ["", "90", "1h", "4000d", "90d,", "90d,all", "unexported", "90d,unexported,x"]
    )
    func refused(text: String) {
        #expect(DeadLetterRetention(text) == nil)
    }

    @Test("a wrong value is a fault of the configuration")
    func fault() {
        let result = BellhopConfiguration.read(environment: ["BELLHOP_DEAD_LETTER_RETENTION": "soon"])
        guard case .failure(let faults) = result else {
            Issue.record("expected a fault")
            return
        }
        #expect(faults.faults.count == 1)
    }
}
