import Testing

@testable import Store

@Suite("The cause of a dead letter")
struct DeadLetterCauseTests {
    @Test(
        "the place of an error is stated once",
        arguments: [
            ("expected a word", "/data/country", "expected a word at /data/country"),
            ("a word at /data/country, found no value", "/data/country", "a word at /data/country, found no value"),
            ("a word at /data/countryCode", "/data/country", "a word at /data/countryCode at /data/country"),
            ("expected an object", "", "expected an object"),
        ]
    )
    func place(error: String, pointer: String, words: String) {
        let cause = DeadLetterCause(.intake, reason: "invalid-field", pointer: pointer, error: error)
        #expect(cause.errorWithPlace == words)
    }
}
