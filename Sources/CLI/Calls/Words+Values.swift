package import BellhopRules
package import ServiceRuntime

extension Words {
    /// Returns the value of an option, converted from its text, or `nil` if the option is absent.
    package func optional<Value>(
        _ option: String,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(CommandFailure) -> Value? {
        guard let text = value(option) else { return nil }
        guard let value = read(text) else { throw misuse("--\(option) takes \(rule); found \(text)") }
        return value
    }

    /// Returns the value of a required option, converted from its text.
    package func required<Value>(
        _ option: String,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(CommandFailure) -> Value {
        guard let value = try optional(option, rule, read) else { throw misuse("--\(option) is missing") }
        return value
    }

    /// Returns the value of a required option as an identifier, by the identifier's rule.
    package func required<Value: TextIdentifier>(_ option: String) throws(CommandFailure) -> Value {
        try required(option, Value.rule, Value.init(validating:))
    }

    /// Returns the whole number of an option, given with or without its unit, or `nil` if the option is absent.
    package func number(
        _ option: String,
        in range: ClosedRange<Int>,
        unit: String = ""
    ) throws(CommandFailure) -> Int? {
        let rule = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return try optional(option, rule) { text in
            let digits = text.hasSuffix(unit) ? text.dropLast(unit.count) : text[...]
            return Int(digits).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Returns the lanes of `--lanes`, or all three if it is absent.
    package func lanes() throws(CommandFailure) -> [Lane] {
        guard let named = value("lanes") else { return Lane.allCases }
        var lanes: [Lane] = []
        for name in named.split(separator: ",", omittingEmptySubsequences: false) {
            guard let lane = Lane(rawValue: String(name)), !lanes.contains(lane) else {
                throw misuse("--lanes takes some of urgent,normal,bulk, each once; found \(named)")
            }
            lanes.append(lane)
        }
        return lanes
    }
}
