/// The number of unacknowledged messages per lane.
package struct Prefetch: Sendable, Equatable, CustomStringConvertible {
    /// The prefetch of each lane except the urgent one.
    package let usual: UInt16
    /// The prefetch of the urgent lane, which is smaller so that urgent messages spread over more workers.
    package let urgent: UInt16

    package init(usual: UInt16, urgent: UInt16) {
        self.usual = usual
        self.urgent = urgent
    }

    /// Reads `1024`, which gives the urgent lane at most 256, or `1024,urgent=512`; each from 1 to 65535.
    package init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let usual = UInt16(parts[0]), usual > 0 else { return nil }
        guard parts.count == 2 else {
            self.init(usual: usual, urgent: min(usual, 256))
            return
        }
        guard parts[1].hasPrefix("urgent="), let urgent = UInt16(parts[1].dropFirst(7)), urgent > 0 else { return nil }
        self.init(usual: usual, urgent: urgent)
    }

    package var description: String { urgent == min(usual, 256) ? "\(usual)" : "\(usual),urgent=\(urgent)" }
}
