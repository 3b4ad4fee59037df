/// The reason why bytes are not the rules of a zone.
public struct ZoneFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault; the raw value is the sentence shown to the operator.
    public enum Code: String, CaseIterable, Sendable {
        /// The first bytes are not `TZif`.
        case notTZif = "the bytes are not a TZif file"
        /// The bytes end inside a block that the header announces.
        case truncated = "the file ends early"
        /// There is no local time type, or more than 256.
        case typeCount = "the number of local time types is impossible"
        /// A transition leads to a local time type that does not exist.
        case typeIndex = "a transition names a local time type that is not there"
        /// Transitions are not in ascending order.
        case order = "the transitions are not in order"
        /// An offset is further from UTC than that of any clock on Earth.
        case offset = "an offset lies beyond 26 hours"
        /// The times count leap seconds, as in the files below `right/`; no other clock in Bellhop does.
        case leapSeconds = "the file counts leap seconds"
        /// The rule for all later years cannot be read.
        case footer = "the rule in the footer cannot be read"
    }

    /// The requested zone.
    public let name: TimeZoneName
    /// The kind of fault.
    public let code: Code

    /// The zone and its fault in one line.
    public var description: String {
        "reading the zone \(name): \(code.rawValue); reinstall tzdata, or hand over the bytes of a TZif file"
    }
}
