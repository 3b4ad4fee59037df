/// Parses templates, once for each text when its catalogue is loaded.
struct TemplateParser {
    /// The maximum number of bytes of a template.
    static let longestText = 16_384
    /// The maximum nesting depth of texts.
    static let deepest = 5
    /// The maximum number of pieces of a template, including those of its phrases.
    static let largest = 1_000

    private let scalars: [Unicode.Scalar]
    let gaps: PlaceholderNames
    let language: LanguageTag?
    var position = 0
    var depth = 0
    /// The number of plurals around the current position; inside a plural, `#` is its number.
    var plurals = 0
    /// The number of pieces that phrases have contributed.
    var borrowed = 0

    private init(_ text: String, _ gaps: PlaceholderNames, _ language: LanguageTag?) {
        scalars = Array(text.unicodeScalars)
        self.gaps = gaps
        self.language = language
    }

    /// Parses a template whose placeholders may use the given names.
    ///
    /// A link has no language; its placeholders contain unchanged values and have no form.
    static func template(
        _ text: String,
        _ gaps: PlaceholderNames,
        _ language: LanguageTag?
    ) throws(TemplateFault) -> Template {
        guard text.utf8.count <= longestText else { throw TemplateFault("longer than \(longestText) bytes") }
        var parser = TemplateParser(text, gaps, language)
        let segments = try parser.segments()
        guard parser.position == parser.scalars.count else {
            throw parser.fault("a } without its {; write '}' for a brace")
        }
        let template = Template(segments: segments)
        guard template.size <= largest else { throw parser.tooLarge }
        return template
    }

    var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    func fault(_ message: String) -> TemplateFault {
        TemplateFault("\(message) (at character \(min(position, scalars.count) + 1))")
    }

    var tooLarge: TemplateFault { fault("more than \(Self.largest) pieces, those of its phrases counted") }
    var tooDeep: TemplateFault { fault("more than \(Self.deepest) texts inside one another") }

    /// Reads up to the end, or up to the brace that closes the current text.
    mutating func segments() throws(TemplateFault) -> [Template.Segment] {
        var segments: [Template.Segment] = []
        var words = String.UnicodeScalarView()
        func take() {
            if !words.isEmpty { segments.append(.words(String(words))) }
            words.removeAll()
        }
        while let scalar = current, scalar != "}" {
            if let quoted = quotedCharacter {
                words.append(quoted)
                position += 3
            } else if scalar == "{" {
                take()
                segments += try gap()
            } else if scalar == "#", plurals > 0 {
                take()
                segments.append(.count)
                position += 1
            } else {
                words.append(scalar)
                position += 1
            }
        }
        take()
        return segments
    }

    /// A brace or number sign between two apostrophes.
    private var quotedCharacter: Unicode.Scalar? {
        guard position + 2 < scalars.count, scalars[position] == "'", scalars[position + 2] == "'" else { return nil }
        let character = scalars[position + 1]
        return character == "{" || character == "}" || character == "#" ? character : nil
    }

    private mutating func gap() throws(TemplateFault) -> [Template.Segment] {
        let start = position
        position += 1
        let name = argument()
        guard let end = current else {
            position = start
            throw fault("a { without its }; write '{' for a brace")
        }
        position += 1
        if end == "}" { return [.gap(try source(name, at: start))] }
        guard end == "," else {
            position = start
            throw fault("a placeholder is a name, or a name with a form after a comma; write '{' for a brace")
        }
        return try form(of: name, at: start)
    }

    func source(_ name: String, at start: Int) throws(TemplateFault) -> ValueSource {
        do {
            return try gaps.source(of: name)
        } catch {
            throw TemplateFault("\(error.message) (at character \(start + 1))")
        }
    }

    mutating func skipSpace() {
        while let scalar = current, scalar == " " || scalar == "\n" || scalar == "\t" || scalar == "\r" {
            position += 1
        }
    }

    /// Reads up to the next white space or brace.
    mutating func word() -> String {
        let start = position
        while let scalar = current, !" \n\t\r{}".unicodeScalars.contains(scalar) { position += 1 }
        return String(String.UnicodeScalarView(scalars[start..<position]))
    }

    /// Reads up to the next comma or brace, and removes the surrounding white space.
    mutating func argument() -> String {
        skipSpace()
        let start = position
        while let scalar = current, scalar != ",", scalar != "{", scalar != "}" { position += 1 }
        let text = scalars[start..<position]
        let last = text.lastIndex { !" \n\t\r".unicodeScalars.contains($0) }
        return String(String.UnicodeScalarView(text[start..<(last.map { $0 + 1 } ?? start)]))
    }

    mutating func comma(or expected: String) throws(TemplateFault) {
        guard current == "," else { throw fault(expected) }
        position += 1
    }

    mutating func close() throws(TemplateFault) {
        guard current == "}" else { throw fault("expected }") }
        position += 1
    }
}

/// Parses the forms of placeholders with more than a name.
extension TemplateParser {
    /// Reads the part after a name and its comma.
    mutating func form(of name: String, at start: Int) throws(TemplateFault) -> [Template.Segment] {
        guard let language else { throw fault("the placeholders of links and topics are names alone, without a form") }
        let style = NumberStyle(language)
        switch argument() {
        case "phrase":
            let phrase = try gaps.phrase(name, language)
            guard depth + phrase.depth <= Self.deepest else { throw tooDeep }
            borrowed += phrase.size
            guard borrowed <= Self.largest else { throw tooLarge }
            try close()
            return phrase.segments
        case "number":
            try close()
            return [.number(try source(name, at: start), style)]
        case "short":
            try close()
            return [.short(try source(name, at: start))]
        case "units": return [.units(try units(try source(name, at: start), style))]
        case "plural": return [.plural(try plural(try source(name, at: start), language))]
        case "select": return [.select(try select(try source(name, at: start)))]
        default: throw fault("unknown form; known are plural, select, number, units, short, phrase")
        }
    }

    /// Reads `18}`, `18, 6}` or `token.decimals, 6}`.
    private mutating func units(_ source: ValueSource, _ style: NumberStyle) throws(TemplateFault)
        -> Template.UnitsPlaceholder
    {
        let expected =
            "units needs how far the point moves (0 to 255, or a value's name), then perhaps how many digits to show"
        try comma(or: expected)
        let word = argument()
        let decimals: Template.UnitsPlaceholder.Decimals
        if let first = word.utf8.first, IdentifierRules.isDigit(first) {
            guard let number = Int(word), number <= 255 else { throw fault(expected) }
            decimals = .fixed(number)
        } else {
            decimals = .value(try self.source(word, at: position))
        }
        guard current == "," else {
            try close()
            return Template.UnitsPlaceholder(source: source, decimals: decimals, longest: nil, style: style)
        }
        position += 1
        guard let longest = Int(argument()), (0...255).contains(longest) else { throw fault(expected) }
        try close()
        return Template.UnitsPlaceholder(source: source, decimals: decimals, longest: longest, style: style)
    }

    private mutating func plural(
        _ source: ValueSource,
        _ language: LanguageTag
    ) throws(TemplateFault) -> Template.PluralPlaceholder {
        let rule = PluralRule(language)
        plurals += 1
        defer { plurals -= 1 }
        var exact: [Int: [Template.Segment]] = [:]
        var categories: [PluralCategory: [Template.Segment]] = [:]
        for (key, text) in try choices() {
            if key.first == "=" {
                guard let number = Int(key.dropFirst()), (0...999_999_999).contains(number), exact[number] == nil else {
                    throw fault("=N needs a whole number that no other text has")
                }
                exact[number] = text
                continue
            }
            guard let category = PluralCategory(rawValue: key), rule.categories.contains(category) else {
                let known = rule.categories.map(\.rawValue).joined(separator: ", ")
                throw fault("\(language) has no plural category of this name; known are \(known) and =N")
            }
            categories[category] = text
        }
        guard let other = categories[.other] else { throw fault("a plural needs the category other") }
        return Template.PluralPlaceholder(
            source: source,
            rule: rule,
            style: NumberStyle(language),
            exact: exact,
            categories: categories,
            other: other
        )
    }

    private mutating func select(_ source: ValueSource) throws(TemplateFault) -> Template.SelectPlaceholder {
        var texts: [String: [Template.Segment]] = [:]
        for (key, text) in try choices() { texts[key] = text }
        guard let other = texts["other"] else { throw fault("a select needs the choice other") }
        return Template.SelectPlaceholder(source: source, choices: texts, other: other)
    }

    /// Reads choices with their texts: `, key {text} key {text} }`.
    private mutating func choices() throws(TemplateFault) -> [(key: String, text: [Template.Segment])] {
        guard depth < Self.deepest else { throw tooDeep }
        depth += 1
        defer { depth -= 1 }
        try comma(or: "expected a comma and texts in braces")
        var choices: [(key: String, text: [Template.Segment])] = []
        skipSpace()
        while let scalar = current, scalar != "}" {
            let key = word()
            skipSpace()
            guard !key.isEmpty, key.utf8.count <= 64, current == "{" else {
                throw fault("expected a word and its text in braces")
            }
            guard !choices.contains(where: { $0.key == key }) else { throw fault("the same choice stands here twice") }
            position += 1
            choices.append((key, try segments()))
            try close()
            skipSpace()
        }
        try close()
        return choices
    }
}
