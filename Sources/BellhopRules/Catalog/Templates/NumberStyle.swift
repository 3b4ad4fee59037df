/// A language's number format with its separators, from the CLDR.
///
/// The digits are 0 to 9 in every language.
struct NumberStyle: Hashable {
    let group: String
    let decimal: String
    let minus: String
    /// The number of digits before the decimal point from which groups are formed: 4, or 5 if `1234` is not grouped.
    let shortestGrouped: Int

    private init(_ group: String, _ decimal: String, minus: String = "-", shortestGrouped: Int = 4) {
        self.group = group
        self.decimal = decimal
        self.minus = minus
        self.shortestGrouped = shortestGrouped
    }

    /// Creates the style of a language with its region, or of the language alone.
    ///
    /// An unknown language gets the English style.
    init(_ tag: LanguageTag) {
        self = Self.regions[tag.text] ?? Self.languages[String(tag.language)] ?? Self.english
    }

    func text(of number: DecimalText) -> String {
        var text = number.isNegative ? minus : ""
        if number.integer.count < shortestGrouped {
            text += String(decoding: number.integer, as: UTF8.self)
        } else {
            var rest = number.integer[...]
            while !rest.isEmpty {
                let size = (rest.count - 1) % 3 + 1
                text += String(decoding: rest.prefix(size), as: UTF8.self)
                rest.removeFirst(size)
                if !rest.isEmpty { text += group }
            }
        }
        guard !number.fraction.isEmpty else { return text }
        return text + decimal + String(decoding: number.fraction, as: UTF8.self)
    }

    private static let english = NumberStyle(",", ".")
    private static let space = "\u{A0}"
    private static let longMinus = "\u{2212}"

    /// The languages with a number format different from English.
    private static let languages: [String: NumberStyle] = {
        let nordic = NumberStyle(space, ",", minus: longMinus)
        let spaced = NumberStyle(space, ",")
        let spacedFromFive = NumberStyle(space, ",", shortestGrouped: 5)
        let dotted = NumberStyle(".", ",")
        let dottedFromFive = NumberStyle(".", ",", shortestGrouped: 5)
        let leftToRightMinus = NumberStyle(",", ".", minus: "\u{200E}-")
        return [
            "nb": nordic, "nn": nordic, "no": nordic, "sv": nordic, "fi": nordic, "lt": nordic, "cs": spaced,
            "sk": spaced, "ru": spaced, "uk": spaced, "pl": spacedFromFive, "lv": spacedFromFive, "hu": spacedFromFive,
            "bg": spacedFromFive, "et": NumberStyle(space, ",", minus: longMinus, shortestGrouped: 5), "da": dotted,
            "is": dotted, "de": dotted, "nl": dotted, "pt": dotted, "sr": dotted, "bs": dotted, "ro": dotted,
            "tr": dotted, "el": dotted, "id": dotted, "vi": dotted, "hr": NumberStyle(".", ",", minus: longMinus),
            "sl": NumberStyle(".", ",", minus: longMinus, shortestGrouped: 5), "es": dottedFromFive,
            "it": dottedFromFive, "fr": NumberStyle("\u{202F}", ","), "ar": leftToRightMinus, "he": leftToRightMinus,
        ]
    }()

    /// The regions with a number format different from that of their language.
    private static let regions: [String: NumberStyle] = {
        let swiss = NumberStyle("'", ".")
        return [
            "de-CH": swiss, "de-LI": swiss, "de-AT": NumberStyle(space, ","), "es-MX": english, "es-US": english,
            "es-419": english, "fr-CA": NumberStyle(space, ","), "pt-PT": NumberStyle(space, ",", shortestGrouped: 5),
        ]
    }()
}
