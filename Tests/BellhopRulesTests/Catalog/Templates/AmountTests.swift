import BellhopRules
import TestSupport
import Testing

@Suite("Amounts in smallest units")
struct AmountTests {
    static let table: [(value: JSONValue, form: String, words: String)] = [
        ("0", "18", "0"), ("1", "18", "0.000000000000000001"), ("1500000000000000000", "18", "1.5"),
        ("1000000000000000000", "18", "1"),
        ("123456789012345678901234567890", "18", "123,456,789,012.34567890123456789"),
        ("-1500000000000000000", "18", "-1.5"), ("1000000", "6", "1"), ("999", "0", "999"),
        ("1234567", "0", "1,234,567"),
        (.number(JSONNumber(2_500_000)), "6", "2.5"), (TemplateSample.number("1e3"), "2", "10"), ("1e3", "2", "10"),
        ("10.00", "1", "1"),
        ("00012", "1", "1.2"), ("-0", "3", "0"),
        // A maximum number of decimals: cut off and not rounded, and never zero for a nonzero amount.
        ("1999999999999999999", "18, 2", "1.99"), ("1999999999999999999", "18, 0", "1"),
        ("1000000000000000001", "18, 6", "1"),
        ("999999999999", "18, 6", "0.0000009"), ("1", "18, 6", "0.000000000000000001"),
        ("-19", "18, 2", "-0.00000000000000001"),
        ("0", "18, 6", "0"), ("5", "1, 0", "0.5"), ("15", "1, 0", "1"), ("1050000", "6, 1", "1"),
        ("1050000", "6, 2", "1.05"),
    ]

    @Test("the decimal point is moved, groups are separated, and trailing zeros are removed", arguments: table.indices)
    func shifted(index: Int) throws {
        let row = Self.table[index]
        let words = try TemplateSample.render("{v, units, \(row.form)}", ["v": row.value]).get()
        #expect(words == row.words, "\(row.form)")
    }

    @Test("the number of decimals may be a value of the event")
    func decimals() throws {
        let template = "{v, units, token.decimals, 2} {token.symbol}"
        for decimals in [6, "6", TemplateSample.number("6.0"), "06"] as [JSONValue] {
            let token: JSONObject = ["decimals": decimals, "symbol": "USDC"]
            #expect(
                try TemplateSample.render(template, ["v": "1234567890", "token": .object(token)]).get()
                    == "1,234.56 USDC"
            )
        }
    }

    @Test("separators are those of the text's language, and the digits are unchanged")
    func languages() throws {
        let table = [
            ("nb", "−1\u{A0}234\u{A0}567,5"), ("de", "-1.234.567,5"), ("de-CH", "-1'234'567.5"),
            ("fr", "-1\u{202F}234\u{202F}567,5"), ("ja", "-1,234,567.5"), ("he", "\u{200E}-1,234,567.5"),
            ("es", "-1.234.567,5"), ("es-MX", "-1,234,567.5"), ("pt-PT", "-1\u{A0}234\u{A0}567,5"),
            ("xx", "-1,234,567.5"),
        ]
        for (language, words) in table {
            #expect(try TemplateSample.render("{v, units, 1}", ["v": "-12345675"], language: language).get() == words)
        }
        #expect(try TemplateSample.render("{v, number}", ["v": 1234], language: "es").get() == "1234")
        #expect(try TemplateSample.render("{v, number}", ["v": 12345], language: "es").get() == "12.345")
        #expect(try TemplateSample.render("{v, number}", ["v": 1234], language: "nb").get() == "1\u{A0}234")
    }

    /// Repeated schoolbook division of a decimal text by ten, which shares no code with the tested target.
    private func oracle(_ digits: String, _ places: Int) -> (whole: String, fraction: String) {
        var number = digits.compactMap(\.wholeNumberValue)
        var fraction: [Int] = []
        for _ in 0..<places {
            var remainder = 0
            for index in number.indices {
                // One digit of the number divided by ten, with the remainder of the digit before.
                let current = remainder * 10 + number[index]
                number[index] = current / 10
                remainder = current % 10
            }
            fraction.insert(remainder, at: 0)
        }
        while number.count > 1, number.first == 0 { number.removeFirst() }
        while fraction.last == 0 { fraction.removeLast() }
        return (number.map(String.init).joined(), fraction.map(String.init).joined())
    }

    @Test("a whole number of any length keeps all of its digits")
    func exact() throws {
        var generator = SeededChance.announced("amounts")
        for _ in 0..<SeededChance.rounds(300) {
            let length = Int.random(in: 1...90, using: &generator)
            let digits = String((0..<length).map { _ in "0001234567899".randomElement(using: &generator) ?? "0" })
            let places = Int.random(in: 0...40, using: &generator)
            let (whole, fraction) = oracle(digits, places)
            let exact = try TemplateSample.render("{v, units, \(places)}", ["v": .string(digits)]).get()
            let plain = exact.filter { $0 != "," }
            #expect(plain == (fraction.isEmpty ? whole : "\(whole).\(fraction)"), "\(digits) \(places)")
            let groups = exact.prefix { $0 != "." }.split(separator: ",", omittingEmptySubsequences: false)
            #expect((1...3).contains(groups[0].count) && groups.dropFirst().allSatisfy { $0.count == 3 }, "\(exact)")
            let longest = Int.random(in: 0...20, using: &generator)
            let cut = try TemplateSample.render("{v, units, \(places), \(longest)}", ["v": .string(digits)]).get()
            let isNothing = digits.allSatisfy { $0 == "0" }
            #expect(isNothing == cut.allSatisfy { "0.".contains($0) }, "\(digits) \(places) \(longest): \(cut)")
            #expect(plain.hasPrefix(cut.filter { $0 != "," }) || isNothing, "\(cut) is no beginning of \(exact)")
        }
    }

    @Test("a number of an event's maximum length is rejected for its length, without further effects")
    func endless() throws {
        let digits = JSONValue.string(String(repeating: "9", count: 200_000))
        let rejection = try #require(try TemplateSample.render("{v, units, 18}", ["v": digits]).failure)
        #expect(rejection.pointer.text == "/data")
        #expect(rejection.message.contains("longer than"))
    }
}
