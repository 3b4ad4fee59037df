import Glibc

/// Reads `Retry-After`: seconds, or one of the three forms of an HTTP date (RFC 9110 §5.6.7).
enum RetryAfter {
    /// A year: what is later is as good as never, and arithmetic on it cannot overflow.
    static let longest = 365 * 86_400

    /// Seconds from `now` (seconds since 1970), between 0 and a year; 0 for what cannot be read.
    static func seconds(_ value: String, now: Int) -> Int {
        let digits = value.utf8
        if !digits.isEmpty, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) {
            return min(Int(value) ?? longest, longest)
        }
        return date(value).map { min(max($0 - now, 0), longest) } ?? 0
    }

    private static func date(_ value: String) -> Int? {
        let words = value.split { " ,-".contains($0) }
        guard words.count >= 5, let clock = words.firstIndex(where: { $0.contains(":") }) else { return nil }
        let isOldest = clock == 3
        guard isOldest || clock == 4, !isOldest || words.count == 5,
            let month = months.firstIndex(of: words[isOldest ? 1 : 2].lowercased()),
            let day = Int32(words[isOldest ? 2 : 1]), (1...31).contains(day),
            let year = year(words[isOldest ? 4 : 3])
        else { return nil }
        let time = words[clock].split(separator: ":").compactMap { Int32($0) }
        guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2]) else {
            return nil
        }
        var fields = tm()
        fields.tm_year = year - 1900
        fields.tm_mon = Int32(month)
        fields.tm_mday = day
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (time[0], time[1], time[2])
        return timegm(&fields)
    }

    /// Two digits are of the century whose year is nearest to ours.
    private static func year(_ word: Substring) -> Int32? {
        guard let number = Int32(word), (0...9999).contains(number) else { return nil }
        guard word.count == 2 else { return number }
        return number < 70 ? 2000 + number : 1900 + number
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
}
