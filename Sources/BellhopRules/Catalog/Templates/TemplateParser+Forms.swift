/// Parses the forms of placeholders with more than a name.
extension TemplateParser {
    /// Reads the part after a name and its comma.
    mutating func form(of name: String, at start: Int) throws(TemplateFault) -> [Template.Segment] {
        guard let language else { throw fault("the placeholders of a link are names alone, without a form") }
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
