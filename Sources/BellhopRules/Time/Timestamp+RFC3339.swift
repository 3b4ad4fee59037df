extension Timestamp: CustomStringConvertible {
    /// What a written instant looks like.
    public static let rule = "an RFC 3339 instant such as 2026-02-15T13:45:00.000Z, between the years 1970 and 9999"

    /// Reads RFC 3339: date, `T`, time, up to nine digits of fraction (cut to microseconds), `Z` or an offset.
    ///
    /// Refused: dates that do not exist, leap seconds, a missing offset (whose time would it be?), years outside 1970
    /// to 9999. Works on bytes and never traps.
    public init?(validating text: String) {
        guard let microseconds = text.withBytes({ Self.parse($0) }) else { return nil }
        self.init(microseconds: microseconds)
    }

    private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard bytes.count >= 20, bytes.count <= 35 else { return nil }
        guard bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[10] | 0x20 == UInt8(ascii: "t"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":")
        else { return nil }
        guard let year = number(bytes, 0, 4), let month = number(bytes, 5, 2), let day = number(bytes, 8, 2),
            let hour = number(bytes, 11, 2), let minute = number(bytes, 14, 2), let second = number(bytes, 17, 2)
        else { return nil }
        guard (1...12).contains(month), day >= 1, day <= daysInMonth(month, year: year) else { return nil }
        guard hour < 24, minute < 60, second < 60 else { return nil }
        guard let (fraction, rest) = fraction(bytes), let offset = offset(bytes, at: rest) else { return nil }
        let days = daysSinceEpoch(year: year, month: month, day: day)
        let seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second
        return Int64(seconds) * 1_000_000 + Int64(fraction)
    }

    private static func number(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ length: Int) -> Int? {
        var value = 0
        for index in start..<start + length {
            guard IdentifierRules.isDigit(bytes[index]) else { return nil }
            value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        return value
    }

    /// Microseconds of the fraction, and where it ends.
    private static func fraction(_ bytes: UnsafeBufferPointer<UInt8>) -> (microseconds: Int, end: Int)? {
        guard bytes[19] == UInt8(ascii: ".") else { return (0, 19) }
        var index = 20
        var value = 0
        var unit = 100_000
        while index < bytes.count, IdentifierRules.isDigit(bytes[index]) {
            value += Int(bytes[index] - UInt8(ascii: "0")) * unit
            unit /= 10
            index += 1
        }
        guard index > 20, index <= 29 else { return nil }
        return (value, index)
    }

    /// Minutes east of UTC.
    private static func offset(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int? {
        guard index < bytes.count else { return nil }
        if bytes[index] | 0x20 == UInt8(ascii: "z") { return index + 1 == bytes.count ? 0 : nil }
        guard bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") else { return nil }
        guard index + 6 == bytes.count, bytes[index + 3] == UInt8(ascii: ":") else { return nil }
        guard let hours = number(bytes, index + 1, 2), let minutes = number(bytes, index + 4, 2) else { return nil }
        guard hours < 24, minutes < 60 else { return nil }
        let total = hours * 60 + minutes
        return bytes[index] == UInt8(ascii: "-") ? -total : total
    }

    private static func daysInMonth(_ month: Int, year: Int) -> Int {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar, counted in eras of 400 years that begin on 1 March.
    private static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The instant in UTC, with milliseconds, or microseconds where there are any: `2026-02-15T13:45:00.000Z`.
    public var description: String {
        let seconds = Int(microseconds / 1_000_000)
        let micros = Int(microseconds % 1_000_000)
        let (year, month, day) = Self.date(daysSinceEpoch: seconds / 86_400)
        let time = seconds % 86_400
        let date = "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
        let clock = [time / 3600, time / 60 % 60, time % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        let fraction = micros % 1000 == 0 ? Self.padded(micros / 1000, 3) : Self.padded(micros, 6)
        return "\(date)T\(clock).\(fraction)Z"
    }

    private static func date(daysSinceEpoch days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
