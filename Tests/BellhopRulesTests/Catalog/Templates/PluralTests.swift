import BellhopRules
import Testing

/// The samples follow the CLDR's own lists of samples for each rule.
@Suite("Plural rules")
struct PluralTests {
    /// Numbers in their written form, by category; `other` contains the rest.
    private typealias Samples = [(category: String, numbers: String)]

    private static let oneIsWhole: Samples = [("one", "1"), ("other", "0 2 16 100 1000000 0.0 1.0 1.5 10.0")]
    private static let oneIsValue: Samples = [("one", "1 1.0 1.00"), ("other", "0 2 16 100 1000000 0.0 0.9 1.1 10.0")]
    private static let always: Samples = [("other", "0 1 2 15 100 1000000 0.0 1.0 1.5")]
    private static let eastSlavic: Samples = [
        ("one", "1 21 31 41 51 61 71 81 101 1001"), ("few", "2 3 4 22 23 24 32 102 1002"),
        ("many", "0 5 11 12 13 14 19 100 111 112 1000 1000000"), ("other", "0.0 1.0 1.5 2.1 10.0"),
    ]
    private static let southSlavic: Samples = [
        ("one", "1 21 31 101 1001 0.1 1.1 2.1 10.21"), ("few", "2 3 4 22 24 102 1002 0.2 1.4 10.22 100.34"),
        ("other", "0 5 11 12 14 19 100 111 1000000 0.0 0.5 1.0 2.11 3.12"),
    ]
    private static let czech: Samples = [
        ("one", "1"), ("few", "2 3 4"), ("many", "0.0 1.0 1.5 2.5 10.0"), ("other", "0 5 19 22 100 1000000"),
    ]
    private static let romance: Samples = [
        ("many", "1000000 2000000 10000000 1000000000000000000000000"), ("other", "2 16 100 1000001 10.0 1000000.0"),
    ]

    private static let languages: [String: Samples] = [
        "nb": oneIsValue, "nn": oneIsValue, "no": oneIsValue, "tr": oneIsValue, "hu": oneIsValue, "el": oneIsValue,
        "bg": oneIsValue, "sv": oneIsWhole, "fi": oneIsWhole, "de": oneIsWhole, "nl": oneIsWhole, "en": oneIsWhole,
        "et": oneIsWhole, "ja": always, "zh": always, "ko": always, "id": always, "th": always, "vi": always,
        "da": [("one", "1 1.0 0.1 0.9 1.6"), ("other", "0 2 16 100 0.0 2.0 2.1 10.0")],
        "is": [
            ("one", "1 21 31 101 1001 0.1 1.1 10.1 1.0 100.21"),
            ("other", "0 2 11 16 100 1000000 0.0 0.2 0.11 2.0 10.0"),
        ],
        "es": [("one", "1 1.0 1.00"), ("other", "0 0.1 1.1")] + romance,
        "fr": [("one", "0 1 0.0 1.0 1.5"), ("other", "2.0 2.5")] + romance,
        "pt": [("one", "0 1 0.0 1.0 1.5"), ("other", "2.0 2.5")] + romance,
        "it": [("one", "1"), ("other", "0 1.0 1.5 0.0")] + romance,
        "pt-PT": [("one", "1"), ("other", "0 1.0 1.5 0.0")] + romance,
        "pl": [
            ("one", "1"), ("few", "2 3 4 22 23 24 32 102 1002"),
            ("many", "0 5 11 12 13 14 19 21 25 100 101 111 112 1000000"), ("other", "0.0 1.0 1.5 2.0 10.0"),
        ],
        "cs": czech, "sk": czech, "ru": eastSlavic, "uk": eastSlavic, "hr": southSlavic, "sr": southSlavic,
        "bs": southSlavic,
        "sl": [
            ("one", "1 101 201 1001"), ("two", "2 102 1002"), ("few", "3 4 103 104 1003 0.0 1.0 1.5 2.0"),
            ("other", "0 5 11 12 19 100 1000000"),
        ],
        "lt": [
            ("one", "1 21 31 101 1001 1.0 21.0 101.00"), ("few", "2 9 22 29 102 1002 2.0 9.0 22.0"),
            ("many", "0.1 1.1 10.1 100.1"), ("other", "0 10 11 12 19 20 30 100 110 1000000 0.0 10.0 11.0"),
        ],
        "lv": [
            ("zero", "0 10 11 12 19 20 30 100 1000000 0.0 10.0 11.0 0.11 1.15"),
            ("one", "1 21 31 101 1001 0.1 1.0 1.1 10.1 0.21"), ("other", "2 9 22 29 102 0.2 1.9 10.2 0.22"),
        ],
        "ro": [
            ("one", "1"), ("few", "0 2 16 101 119 1001 0.0 1.0 1.5 10.0"), ("other", "20 35 100 120 1000000"),
        ],
        "ar": [
            ("zero", "0 0.0"), ("one", "1 1.0"), ("two", "2 2.0"), ("few", "3 10 103 110 1003 3.0"),
            ("many", "11 26 111 1011 11.0 99.00"), ("other", "100 102 200 202 1000 1000000 0.1 1.1 100.0"),
        ],
        "he": [("one", "1 0.0 0.1 0.9"), ("two", "2"), ("other", "0 3 17 100 1000000 1.0 1.5 2.0")],
    ]

    @Test("each language assigns numbers to categories as the CLDR does", arguments: languages.keys.sorted())
    func samples(language: String) throws {
        let samples = try #require(Self.languages[language])
        let categories = Set(samples.map(\.category))
        let texts = categories.sorted().map { "\($0) {\($0)}" }.joined(separator: " ")
        for (category, numbers) in samples {
            for number in numbers.split(separator: " ") {
                for value in [JSONValue.string(String(number)), .string("-\(number)")] {
                    let words = try TemplateSample.render("{n, plural, \(texts)}", ["n": value], language: language)
                        .get()
                    #expect(words == category, "\(language) \(number)")
                }
            }
        }
        let unknown = Set(["zero", "one", "two", "few", "many"]).subtracting(categories)
        for category in unknown {
            let fault = TemplateSample.fault("{n, plural, \(category) {} other {}}", language: language)
            #expect(fault?.contains("\(language) has no plural category of this name") == true, "\(category)")
        }
    }

    @Test("a region has its language's rule, and an unknown language has one and other")
    func regions() throws {
        for language in ["pl-PL", "de-CH", "sr-Latn-RS", "xx", "tlh"] {
            let template = "{n, plural, one {one} other {other}}"
            #expect(try TemplateSample.render(template, ["n": 1], language: language).get() == "one")
        }
        #expect(TemplateSample.fault("{n, plural, few {} other {}}", language: "pl-PL") == nil)
        #expect(TemplateSample.fault("{n, plural, few {} other {}}", language: "xx") != nil)
    }

    @Test("an absent category is replaced by other")
    func absent() throws {
        #expect(try TemplateSample.render("{n, plural, one {a} other {b}}", ["n": 3], language: "pl").get() == "b")
    }
}
