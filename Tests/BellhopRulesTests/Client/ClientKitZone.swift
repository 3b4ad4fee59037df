import BellhopRules
import Foundation

extension Zone {
    /// The zone of a platform's clock, good for a year from an instant on.
    static func ofPlatform(_ platform: TimeZone, from start: Timestamp) -> Zone? {
        guard let name = TimeZoneName(validating: platform.identifier) else { return nil }
        let end = Timestamp(clamping: start.microseconds + 366 * 86_400 * 1_000_000)
        return Zone(name: name, from: start, to: end) { instant in
            platform.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant.microseconds) / 1_000_000))
        }
    }
}
