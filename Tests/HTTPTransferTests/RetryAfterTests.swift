import HTTPTransfer
import Testing

@Suite("Retry-After")
struct RetryAfterTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT, the example in RFC 9110.
    private let then = 784_111_777
    private let year = 365 * 86_400

    @Test(
        "a number of seconds is read and clamped to one year",
        arguments: [
            ("0", 0), ("120", 120), ("0000000000000000000000120", 120), ("31536000", 31_536_000),
            ("31536001", 31_536_000), ("99999999999999999999999999", 31_536_000),
        ]
    )
    func seconds(value: String, expected: Int) {
        #expect(RetryAfter.seconds(value, now: then) == expected)
    }

    @Test(
        "a date is read in each of its three forms",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ]
    )
    func dates(value: String) {
        #expect(RetryAfter.seconds(value, now: then - 100) == 100)
        #expect(RetryAfter.seconds(value, now: then + 100) == 0)
        #expect(RetryAfter.seconds(value, now: then - 2 * year) == year)
    }

    @Test("a year of two digits means the latest such year that is at most fifty years ahead")
    func shortYears() {
        let now = 1_767_225_600  // the first second of 2026
        #expect(RetryAfter.seconds("Wednesday, 31-Dec-75 23:59:59 GMT", now: now) == year)
        #expect(RetryAfter.seconds("Thursday, 31-Dec-76 23:59:59 GMT", now: now) == year)
        #expect(RetryAfter.seconds("Friday, 31-Dec-77 23:59:59 GMT", now: now) == 0)
        #expect(RetryAfter.seconds("Thursday, 01-Jan-26 00:01:00 GMT", now: now) == 60)
    }

    @Test(
        "an unreadable value means zero seconds",
        arguments: [
            "", " ", "soon", "-5", "+5", "1.5", "0x10", "١٢", "Sun, 06 Nov 1994", "08:49:37", "a b c d :",
            "Sun, 06 Foo 2994 08:49:37 GMT", "Sun, 00 Nov 2994 08:49:37 GMT", "Sun, 32 Nov 2994 08:49:37 GMT",
            "Sun, 06 Nov 2994 24:49:37 GMT", "Sun, 06 Nov 2994 08:60:37 GMT", "Sun, 06 Nov 2994 08:49 GMT",
            "Sun, 06 Nov 99999999999 08:49:37 GMT", "Sun, 06 Nov -1 08:49:37 GMT", "Sun Nov 6 : 1994",
            "Sun, 06 Nov 2994 99999999999:49:37 GMT", "Sun Nov 6 08:49:37 1994 and more words", ",,,,,,,,::::",
        ]
    )
    func nonsense(value: String) {
        #expect(RetryAfter.seconds(value, now: then) == 0)
    }
}
