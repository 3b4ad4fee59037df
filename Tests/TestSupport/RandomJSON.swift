package import BellhopJSON

/// Random values of every kind, with a preference for rare ones.
package struct RandomJSON {
    package var generator: SeededChance
    private static let letters: [Unicode.Scalar] = [
        "a", "b", "Z", "0", " ", "\"", "\\", "/", "\n", "\t", "\u{1}", "\u{1F}", "\u{7F}", "å", "\u{30A}", "\u{FFFF}",
        "😀",
        "\u{2028}", "\u{0}", "{", "}", "[", "]", ",", ":",
    ]

    package init(generator: SeededChance) {
        self.generator = generator
    }

    package mutating func value(depth: Int = 0) -> JSONValue {
        switch Int.random(in: 0..<(depth < 5 ? 8 : 5), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .number(JSONNumber(Int64.random(in: .min ... .max, using: &generator)))
        case 3, 4: return .string(string())
        case 5: return .array((0..<Int.random(in: 0..<5, using: &generator)).map { _ in value(depth: depth + 1) })
        default: return .object(object(depth: depth))
        }
    }

    package mutating func object(depth: Int = 0) -> JSONObject {
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0..<(depth == 0 ? 24 : 5), using: &generator) {
            object[string()] = value(depth: depth + 1)
        }
        return object
    }

    package mutating func string() -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0..<20, using: &generator) {
            scalars.append(Self.letters.randomElement(using: &generator) ?? "x")
        }
        return String(scalars)
    }
}
