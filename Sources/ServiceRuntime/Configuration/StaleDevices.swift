import Foundation

/// When devices that nobody has heard of for long are ended, each night.
package struct StaleDevices: Sendable, Equatable {
    /// How long a device must have been silent.
    package let days: Int
    /// Of the scheduler's local clock, 0 to 23: the hour in which it looks.
    package let hour: Int

    /// Reads `90d`, or `90d,hour=4`; nil for anything else.
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
