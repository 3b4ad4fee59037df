/// The names that a template's placeholders may refer to: values and phrases.
struct PlaceholderNames {
    private let aliases: [String: String]
    private let closed: [String]?
    private var phrases: [String: [LanguageTag: Template]] = [:]

    /// Returns the names for an event: its own fields, any members of its data, and the app's aliases for both.
    static func ofEvents(aliases: [String: String]) -> PlaceholderNames {
        PlaceholderNames(aliases: aliases, closed: nil)
    }

    /// Returns a closed list of names.
    static func of(_ names: [String]) -> PlaceholderNames {
        PlaceholderNames(aliases: [:], closed: names)
    }

    private init(aliases: [String: String], closed: [String]?) {
        self.aliases = aliases
        self.closed = closed
    }

    mutating func add(phrase name: String, _ language: LanguageTag, _ template: Template) {
        phrases[name, default: [:]][language] = template
    }

    /// Returns whether the name consists of letters, digits, `_` and `-`, with dots between steps.
    static func isName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 128 else { return false }
        let steps = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return steps.allSatisfy { !$0.isEmpty && $0.allSatisfy(isNameByte) }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        IdentifierRules.isLetter(byte) || IdentifierRules.isDigit(byte) || "_-".utf8.contains(byte)
    }

    func source(of name: String) throws(TemplateFault) -> ValueSource {
        guard Self.isName(name) else {
            throw TemplateFault("a placeholder is a name of letters, digits, _ and -, with dots between steps")
        }
        if let closed, !closed.contains(name) {
            throw TemplateFault("there is no value \(name) here; known are \(closed.joined(separator: ", "))")
        }
        return ValueSource(name: aliases[name] ?? name)
    }

    func phrase(_ name: String, _ language: LanguageTag) throws(TemplateFault) -> Template {
        guard let words = phrases[name] else {
            let known = phrases.keys.sorted().joined(separator: ", ")
            let advice = known.isEmpty ? "there is none" : "known are \(known)"
            throw TemplateFault("no phrase of this name stands above; \(advice)")
        }
        let near = words.first { $0.key.text == language.language }
        guard let phrase = words[language] ?? near?.value else {
            throw TemplateFault("the phrase \(name) has no words in \(language)")
        }
        return phrase
    }
}

/// The reason why a template cannot be read.
struct TemplateFault: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
