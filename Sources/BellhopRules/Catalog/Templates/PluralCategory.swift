/// The categories into which languages sort numbers, with their CLDR names.
enum PluralCategory: String, CaseIterable, Hashable {
    case zero, one, two, few, many, other
}

/// The properties of a number that plural rules use, from Unicode Technical Standard 35.
struct PluralOperands {
    /// The digits before the decimal point.
    ///
    /// The value is exact up to 15 digits. Beyond that, it is a large number with the same last six digits.
    let i: Int
    /// The number of digits after the decimal point.
    let v: Int
    /// The last two of the digits after the decimal point, and whether any of these digits is not zero.
    let f: Int
    let hasFraction: Bool
    /// The last two of the digits after the decimal point, without trailing zeros.
    let t: Int

    init(_ number: DecimalText) {
        func value(_ digits: some Collection<UInt8>) -> Int { digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) } }
        let integer = number.integer
        i = integer.count <= 15 ? value(integer) : 1_000_000_000_000_000 + value(integer.suffix(6))
        v = number.fraction.count
        f = value(number.fraction.suffix(2))
        let kept = number.fraction.lastIndex { $0 != UInt8(ascii: "0") }.map { $0 + 1 } ?? 0
        hasFraction = kept > 0
        t = value(number.fraction.prefix(kept).suffix(2))
    }

    /// The value of a whole number; `nil` if a digit after the decimal point is not zero.
    var n: Int? { hasFraction ? nil : i }
}
