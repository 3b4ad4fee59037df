import ServiceRuntime
import Settings
import Testing

@Suite("Retention of dead letters")
struct DeadLetterRetentionTests {
    @Test("a span keeps unexported dead letters, and only the explicit option deletes them")
    func read() throws {
        let plain = try #require(DeadLetterRetention("90d"))
        #expect(plain.span == .seconds(90 * 86_400))
        #expect(!plain.includesUnexported)
        let explicit = try #require(DeadLetterRetention("7d, unexported"))
        #expect(explicit.includesUnexported)
    }

    @Test(
        "any other text is rejected",
        arguments: ["", "90", "1h", "4000d", "90d,", "90d,all", "unexported", "90d,unexported,x"]
    )
    func refused(text: String) {
        #expect(DeadLetterRetention(text) == nil)
    }

    @Test("an invalid value is a fault of the configuration")
    func fault() {
        let result = BellhopConfiguration.read(environment: ["BELLHOP_DEAD_LETTER_RETENTION": "soon"])
        guard case .failure(let faults) = result else {
            Issue.record("expected a fault")
            return
        }
        #expect(faults.faults.count == 1)
    }
}
