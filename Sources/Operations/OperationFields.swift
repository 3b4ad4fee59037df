package import BellhopRules
import ServiceRuntime
import Settings

/// The input of an operation: items and named texts, as command-line options and JSON members give them.
package struct OperationFields: Sendable {
    package let items: [String]
    private let values: [String: [String]]
    private let switches: Set<String>
    /// A document, such as the corrected body of a message; empty if there is none.
    package var document: [UInt8] = []

    package init(items: [String], values: [String: [String]], switches: Set<String>) {
        self.items = items
        self.values = values
        self.switches = switches
    }

    package func text(_ name: String) -> String? { values[name]?.last }

    /// Returns all texts of a field that may be given several times, in their order.
    package func texts(_ name: String) -> [String] { values[name] ?? [] }

    package func has(_ name: String) -> Bool { switches.contains(name) }

    /// The names of all given fields.
    package var given: Set<String> { switches.union(values.keys) }

    /// Returns an instant, or the end of a span that begins now, or `nil` if the field is absent.
    package func time(after now: Timestamp, _ name: String) throws(OperationError) -> Timestamp? {
        try optional(name, "a future instant such as 2026-02-15T03:00:00Z, or a span such as 2h") { text in
            let span = Duration(text: text).map {
                Timestamp(clamping: now.microseconds + min($0.microseconds, 1 << 50))
            }
            return (Timestamp(validating: text) ?? span).flatMap { $0 > now ? $0 : nil }
        }
    }

    /// Returns an instant, or the beginning of a span that ends now, or `nil` if the field is absent.
    package func time(before now: Timestamp, _ name: String) throws(OperationError) -> Timestamp? {
        try optional(name, "an instant such as 2026-02-15T13:45:00Z, or a span before now such as 2h") { text in
            if let instant = Timestamp(validating: text) { return instant }
            return Duration(text: text).map {
                Timestamp(clamping: now.microseconds - min($0.microseconds, now.microseconds))
            }
        }
    }
}

extension OperationFields: NamedTexts {
    package func fault(_ name: String, _ message: String) -> OperationError { .invalid(name, message) }
}
