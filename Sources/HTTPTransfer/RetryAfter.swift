import Glibc

/// Parses `Retry-After`: seconds, or one of the three forms of an HTTP date (RFC 9110 §5.6.7).
package enum RetryAfter {
    /// The maximum in seconds: a year.
    ///
    /// A later time is equivalent to never, and arithmetic with a year cannot overflow.
    static let longest = 365 * 86_400

    /// Returns the seconds from `now` (seconds since 1970), between 0 and a year; 0 for an invalid value.
    package static func seconds(_ value: String, now: Int) -> Int {
        if !value.isEmpty, value.utf8.allSatisfy(ASCII.isDigit) { return min(Int(value) ?? longest, longest) }
        return date(value, now: now).map { min(max($0 - now, 0), longest) } ?? 0
    }

    private static func date(_ value: String, now: Int) -> Int? {
        let words = value.split { " ,-".contains($0) }
        guard words.count >= 5, let clock = words.firstIndex(where: { $0.contains(":") }) else { return nil }
        let isOldest = clock == 3
        guard isOldest || clock == 4, !isOldest || words.count == 5,
            let month = months.firstIndex(of: words[isOldest ? 1 : 2].lowercased()),
            let day = Int32(words[isOldest ? 2 : 1]), (1...31).contains(day),
            let year = year(words[isOldest ? 4 : 3], now: now)
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

    /// Returns the year; two digits stand for the latest matching year that is at most fifty years ahead.
    private static func year(_ word: Substring, now: Int) -> Int32? {
        guard word.utf8.count <= 4, let number = Int32(word), number >= 0 else { return nil }
        guard word.utf8.count == 2 else { return number }
        var fields = tm()
        var now = now
        gmtime_r(&now, &fields)
        let latest = fields.tm_year + 1950
        return latest - (latest - number) % 100
    }

    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]
}
