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

/// A decimal number by its digits, of any length.
///
/// No precision is lost: 18 digits of wei stay 18 digits.
struct DecimalText: Hashable {
    /// The largest accepted exponent.
    ///
    /// A larger one could expand to far more digits than the text has.
    private static let longestExponent = 400

    let isNegative: Bool
    /// ASCII digits, at least one, without leading zeros.
    let integer: [UInt8]
    /// ASCII digits as written, including trailing zeros.
    let fraction: [UInt8]

    private init(isNegative: Bool, integer: some Sequence<UInt8>, fraction: [UInt8]) {
        let significant = Array(integer.drop { $0 == UInt8(ascii: "0") })
        self.integer = significant.isEmpty ? [UInt8(ascii: "0")] : significant
        self.fraction = fraction
        self.isNegative = isNegative && !(significant.isEmpty && fraction.allSatisfy { $0 == UInt8(ascii: "0") })
    }

    /// Creates a number from a JSON number or from a string that contains one.
    ///
    /// The form is digits with an optional minus, fraction and exponent.
    init?(_ value: JSONValue) {
        switch value {
        case .number(let number): self.init(number.text)
        case .string(let text): self.init(text)
        default: return nil
        }
    }

    init?(_ text: String) {
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        var integer = Array(rest.prefix(while: IdentifierRules.isDigit))
        guard !integer.isEmpty else { return nil }
        rest = rest.dropFirst(integer.count)
        var fraction: [UInt8] = []
        if rest.first == UInt8(ascii: ".") {
            fraction = Array(rest.dropFirst().prefix(while: IdentifierRules.isDigit))
            guard !fraction.isEmpty else { return nil }
            rest = rest.dropFirst(fraction.count + 1)
        }
        if let letter = rest.first {
            guard letter | 0x20 == UInt8(ascii: "e"), let exponent = Int(Substring(rest.dropFirst())),
                (-Self.longestExponent...Self.longestExponent).contains(exponent)
            else { return nil }
            Self.movePoint(by: exponent, &integer, &fraction)
        }
        self.init(isNegative: isNegative, integer: integer, fraction: fraction)
    }

    /// Moves the decimal point to the right, or to the left if `places` is negative.
    private static func movePoint(by places: Int, _ integer: inout [UInt8], _ fraction: inout [UInt8]) {
        let zero = UInt8(ascii: "0")
        if places >= 0 {
            let missing = max(places - fraction.count, 0)
            integer += fraction.prefix(places) + [UInt8](repeating: zero, count: missing)
            fraction.removeFirst(min(places, fraction.count))
        } else {
            let missing = max(-places - integer.count, 0)
            fraction = [UInt8](repeating: zero, count: missing) + integer.suffix(-places) + fraction
            integer.removeLast(min(-places, integer.count))
        }
    }

    /// Whether all digits after the decimal point are zero.
    var isWhole: Bool { fraction.allSatisfy { $0 == UInt8(ascii: "0") } }

    /// The value of a whole number from 0 to 999999999; `nil` for any other number.
    var smallInteger: Int? {
        guard !isNegative, isWhole, integer.count <= 9 else { return nil }
        return integer.reduce(0) { $0 * 10 + Int($1 & 0x0F) }
    }

    /// Returns the number with its decimal point moved to the left and without trailing zeros.
    ///
    /// At most `longest` digits stay after the decimal point, or as many as the first digit that is not zero needs. A
    /// positive amount is therefore never shown as zero. The other digits are cut off and not rounded, so that the
    /// shown amount never exceeds the real one.
    func movingPoint(left places: Int, keeping longest: Int?) -> DecimalText {
        var integer = integer
        var fraction = fraction
        Self.movePoint(by: -places, &integer, &fraction)
        let zero = UInt8(ascii: "0")
        if let longest, fraction.count > longest {
            let isNothing = integer.allSatisfy { $0 == zero }
            let first = isNothing ? fraction.firstIndex { $0 != zero }.map { $0 + 1 } ?? 0 : 0
            fraction.removeLast(fraction.count - max(longest, first))
        }
        while fraction.last == zero { fraction.removeLast() }
        return DecimalText(isNegative: isNegative, integer: integer, fraction: fraction)
    }
}
