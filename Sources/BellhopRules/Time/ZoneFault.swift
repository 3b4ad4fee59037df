/// Why some bytes are not the rules of a zone.
public struct ZoneFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong; the raw value is the sentence that goes to the reader.
    public enum Code: String, CaseIterable, Sendable {
        /// The first bytes are not `TZif`.
        case notTZif = "the bytes are not a TZif file"
        /// The bytes stop inside a block that the header announces.
        case truncated = "the file ends early"
        /// There is no kind of local time, or more than 256.
        case typeCount = "the number of local time types is impossible"
        /// A transition leads to a kind of local time that is not there.
        case typeIndex = "a transition names a local time type that is not there"
        /// Transitions are not in ascending order.
        case order = "the transitions are not in order"
        /// An offset is further from UTC than any clock on Earth.
        case offset = "an offset lies beyond 26 hours"
        /// The times count leap seconds, as those below `right/` do; no other clock here does.
        case leapSeconds = "the file counts leap seconds"
        /// The rule for all later years cannot be read.
        case footer = "the rule in the footer cannot be read"
    }

    /// The zone that was asked for.
    public let name: TimeZoneName
    /// What is wrong.
    public let code: Code

    /// The zone and what is wrong with it, in one line.
    public var description: String {
        "reading the zone \(name): \(code.rawValue); reinstall tzdata, or hand over the bytes of a TZif file"
    }
}
