import BellhopRules
import ServiceRuntime

extension Words {
    /// What an option says, in a form that reads its text; nil where it is not given.
    func optional<Value>(
        _ option: String,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(CommandFailure) -> Value? {
        guard let text = value(option) else { return nil }
        guard let value = read(text) else { throw misuse("--\(option) takes \(rule); found \(text)") }
        return value
    }

    /// The same of an option that must be given.
    func required<Value>(
        _ option: String,
        _ rule: String,
        _ read: (String) -> Value?
    ) throws(CommandFailure) -> Value {
        guard let value = try optional(option, rule, read) else { throw misuse("--\(option) is missing") }
        return value
    }

    /// An option that must be given, and names something by the rule of its kind.
    func required<Value: TextIdentifier>(_ option: String) throws(CommandFailure) -> Value {
        try required(option, Value.rule, Value.init(validating:))
    }

    /// The whole number of an option, with its unit or without; nil where it is not given.
    func number(
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

    /// The lanes of `--lanes`, all three without it.
    func lanes() throws(CommandFailure) -> [Lane] {
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
