package import BellhopRules

/// Texts with names that are converted to values, such as the options of a command line.
package protocol NamedTexts {
    /// The error for a missing or invalid text.
    associatedtype Fault: Error

    /// Returns the text with this name, or `nil` if it is absent.
    func text(_ name: String) -> String?

    /// Makes the error whose message continues the name, such as `takes a whole number; found x`.
    func fault(_ name: String, _ message: String) -> Fault
}

extension NamedTexts {
    /// Returns the value of a text, or `nil` if the text is absent.
    package func optional<Value>(
        _ name: String,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(Fault) -> Value? {
        guard let text = text(name) else { return nil }
        guard let value = read(text) else { throw fault(name, "takes \(rule); found \(text)") }
        return value
    }

    /// Returns the value of a required text.
    package func required<Value>(
        _ name: String,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(Fault) -> Value {
        guard let value = try optional(name, rule, read) else { throw fault(name, "is missing") }
        return value
    }

    /// Returns the value of a required text as an identifier, by the identifier's rule.
    package func required<Value: TextIdentifier>(_ name: String) throws(Fault) -> Value {
        try required(name, Value.rule, Value.init(validating:))
    }

    /// Returns the whole number of a text, given with or without its unit, or `nil` if the text is absent.
    package func number(_ name: String, in range: ClosedRange<Int>, unit: String = "") throws(Fault) -> Int? {
        try optional(name, "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
            let digits = text.hasSuffix(unit) ? text.dropLast(unit.count) : text[...]
            return Int(digits).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}
