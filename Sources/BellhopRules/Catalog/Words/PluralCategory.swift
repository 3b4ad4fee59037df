/// The categories into which languages sort numbers, by their names in the CLDR.
enum PluralCategory: String, CaseIterable, Hashable {
    case zero, one, two, few, many, other
}

/// What plural rules look at in a number, after Unicode's technical standard 35.
struct PluralOperands {
    /// The digits before the point: exact up to 15 digits, beyond that something large with the same last six.
    let i: Int
    /// How many digits stand behind the point.
    let v: Int
    /// The last two of the digits behind the point, and whether any is there that is not zero.
    let f: Int
    let hasFraction: Bool
    /// The last two of the digits behind the point without trailing zeros.
    let t: Int

    init(_ number: WrittenNumber) {
        func value(_ digits: some Collection<UInt8>) -> Int { digits.reduce(0) { $0 * 10 + Int($1 & 0x0F) } }
        let integer = number.integer
        i = integer.count <= 15 ? value(integer) : 1_000_000_000_000_000 + value(integer.suffix(6))
        v = number.fraction.count
        f = value(number.fraction.suffix(2))
        let kept = number.fraction.lastIndex { $0 != UInt8(ascii: "0") }.map { $0 + 1 } ?? 0
        hasFraction = kept > 0
        t = value(number.fraction.prefix(kept).suffix(2))
    }

    /// The whole number's value; nil where something other than zero stands behind the point.
    var n: Int? { hasFraction ? nil : i }
}
