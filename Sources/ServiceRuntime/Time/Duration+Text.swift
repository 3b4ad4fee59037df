extension Duration {
    /// Reads `500ms`, `10s`, `2m`, `1h` or `7d`; a bare whole number means seconds.
    ///
    /// Returns `nil` for any other text: a sign, a fraction, a space inside, an unknown unit, or a span beyond `Int64`
    /// microseconds.
    package init?(text: String) {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard let count = Int64(digits), let unit = Self.microsecondsPerUnit(text.dropFirst(digits.count)) else {
            return nil
        }
        let (span, overflow) = count.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        self = .microseconds(span)
    }

    /// The shortest text that `init(text:)` reads back: `90s`, `2m`, `1h`.
    ///
    /// Fractions of a millisecond are cut off.
    package var shortText: String {
        let milliseconds = microseconds / 1_000
        for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)] as [(String, Int64)]
        where milliseconds != 0 && milliseconds % size == 0 {
            return "\(milliseconds / size)\(unit)"
        }
        return milliseconds == 0 ? "0s" : "\(milliseconds)ms"
    }

    /// The duration in its largest unit, without a fraction: `119 s`, `2 min`, `3 h`, `5 d`.
    ///
    /// Two minutes are the first ones, because `1 min` would stand for almost two.
    package var roughly: String {
        let seconds = components.seconds
        switch seconds {
        case ..<120: return "\(seconds) s"
        case ..<3_600: return "\(seconds / 60) min"
        case ..<86_400: return "\(seconds / 3_600) h"
        default: return "\(seconds / 86_400) d"
        }
    }

    private static func microsecondsPerUnit(_ unit: Substring) -> Int64? {
        switch unit {
        case "ms": 1_000
        case "", "s": 1_000_000
        case "m": 60_000_000
        case "h": 3_600_000_000
        case "d": 86_400_000_000
        default: nil
        }
    }
}
