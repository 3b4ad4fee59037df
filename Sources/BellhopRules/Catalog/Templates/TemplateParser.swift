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
