package import BellhopRules

/// The input of an operation: items and named texts, as command-line options and JSON members give them.
package struct OperationFields: Sendable {
    package let items: [String]
    private let values: [String: [String]]
    private let switches: Set<String>

    package init(items: [String], values: [String: [String]], switches: Set<String>) {
        self.items = items
        self.values = values
        self.switches = switches
    }

    package func text(_ name: String) -> String? { values[name]?.last }

    /// The names of all given fields.
    package var given: Set<String> { switches.union(values.keys) }

    /// Returns the value of a field, converted from its text, or `nil` if the field is absent.
    package func optional<Value>(
        _ name: String,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(OperationError) -> Value? {
        guard let text = text(name) else { return nil }
        guard let value = read(text) else { throw .invalid(name, "takes \(rule); found \(text)") }
        return value
    }

    /// Returns the value of a required field as an identifier, by the identifier's rule.
    package func required<Value: TextIdentifier>(_ name: String) throws(OperationError) -> Value {
        guard let value = try optional(name, Value.rule, Value.init(validating:)) else {
            throw .invalid(name, "is missing")
        }
        return value
    }

    /// Returns the whole number of a field, or `nil` if the field is absent.
    package func number(_ name: String, in range: ClosedRange<Int>) throws(OperationError) -> Int? {
        try optional(name, "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
            Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}
