import Foundation
/// The rule by which devices without activity are revoked, once per night.
package struct StaleDevicePolicy: Sendable, Equatable {
    /// The number of days for which a device must have been silent.
    package let days: Int
    /// The hour of the check on the scheduler's local clock, 0 to 23.
    package let hour: Int

    /// Reads `90d`, or `90d,hour=4`; `nil` for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard parts.count <= 2, let first = parts.first, first.hasSuffix("d"), let days = Int(first.dropLast()),
            (1...3_650).contains(days)
        else { return nil }
        self.days = days
        guard parts.count == 2 else {
            hour = Self.usualHour
            return
        }
        guard parts[1].hasPrefix("hour="), let hour = Int(parts[1].dropFirst(5)), (0...23).contains(hour) else {
            return nil
        }
        self.hour = hour
    }

    private static let usualHour = 3
}
