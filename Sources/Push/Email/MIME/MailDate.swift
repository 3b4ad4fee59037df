import Glibc

/// Formats instants for the head of a mail (RFC 5322 §3.3), always in UTC.
enum MailDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns a text such as `Sun, 15 Feb 2026 13:45:00 +0000`.
    ///
    /// Years outside 1900 to 9999, which the format does not support, are clamped.
    static func text(secondsSince1970 seconds: Int64) -> String {
        var time = time_t(min(max(seconds, -2_208_988_800), 253_402_300_799))
        var fields = tm()
        gmtime_r(&time, &fields)
        let day = days[Int(fields.tm_wday)]
        let month = months[Int(fields.tm_mon)]
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map(twoDigits).joined(separator: ":")
        return "\(day), \(twoDigits(fields.tm_mday)) \(month) \(fields.tm_year + 1900) \(clock) +0000"
    }

    private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
