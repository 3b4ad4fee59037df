import Testing

@testable import Operations

@Suite("Errors of operations")
struct OperationErrorTests {
    @Test("the text of an error is one line, and a page gets its lines without other control characters")
    func lines() {
        let error = OperationError(
            .misconfigured,
            attempted: "reading the files",
            "two faults:\none\u{1B}[31m\ntwo",
            advice: "correct them"
        )
        #expect(error.text == #"reading the files: two faults:\none\u{1b}[31m\ntwo; correct them"#)
        #expect(error.lines == "reading the files: two faults:\none\\u{1b}[31m\ntwo; correct them")
        let invalid = OperationError.invalid("rate", "takes a number; found a\nb")
        #expect(invalid.text == #"rate takes a number; found a\nb"#)
        #expect(invalid.lines == "rate takes a number; found a\nb")
    }
}
