import BellhopJSON
import Testing

@Suite("Numbers")
struct JSONNumberTests {
    private func number(_ text: String) throws -> JSONNumber {
        try #require(try JSONParser().parse(Array(text.utf8)).get().number)
    }

    @Test(
        "digits are kept as written",
        arguments: [
            "0", "-0", "1.0", "1e999", "-1E+5", "123456789012345678901234567890",
            "0.1000000000000000055511151231257827",
            "115792089237316195423570985008687907853269984665640564039457584007913129639935",
        ]
    )
    func digits(text: String) throws {
        #expect(try number(text).text == text)
        #expect(JSONWriter.canonicalBytes(of: .number(try number(text))) == Array(text.utf8))
    }

    @Test("a number that does not fit is nil, never a trap or another value")
    func conversions() throws {
        #expect(try number("9223372036854775807").int64 == .max)
        #expect(try number("9223372036854775808").int64 == nil)
        #expect(try number("-9223372036854775809").int64 == nil)
        #expect(try number("1.0").int64 == nil)
        #expect(try number("1e999").double == nil)
        #expect(try number("1e3").double == 1000)
    }

    @Test("a number is portable if a double can hold its magnitude and its length is limited")
    func portability() throws {
        for text in ["0", "0.0e9", "1e308", "-1e308", "5e-324", "0e999", String(repeating: "9", count: 300)] {
            #expect(try number(text).isPortable, "\(text)")
        }
        for text in ["1e309", "-1e999", "1e-400", "1e-99999999999999999999", "1e99999999999999999999"] {
            #expect(try !number(text).isPortable, "\(text)")
        }
        #expect(try !number("0." + String(repeating: "3", count: 400)).isPortable)
        #expect(try !number(String(repeating: "9", count: 100_000)).isPortable)
    }
}
