/// Reads the basic values of catalogues and related documents.
extension JSONScope {
    func identifier<ID: TextIdentifier>(_ key: String, as type: ID.Type = ID.self, required: Bool = true) -> ID? {
        value(key, ID.rule, required: required) { $0.string.flatMap(ID.init(validating:)) }
    }

    /// Reads a non-empty text without control characters.
    func line(_ key: String, longest: Int = 255, required: Bool = false) -> String? {
        text(key, "a non-empty string of one line, at most \(longest) bytes", required: required) {
            IdentifierRules.isPlain($0, longest: longest)
        }
    }

    func color(_ key: String) -> String? {
        text(key, "a colour such as #0B6E35") { text in
            text.utf8.count == 7 && text.hasPrefix("#") && text.dropFirst().allSatisfy { $0.isASCII && $0.isHexDigit }
        }
    }
}

/// Reads texts by language, and the targets of taps.
extension JSONScope {
    /// Reads one line in each language.
    func lines(_ key: String, _ language: LanguageTag?, required: Bool = false) -> [LanguageTag: String] {
        var lines: [LanguageTag: String] = [:]
        for (tag, key, scope) in perLanguage(key, language, required: required) {
            lines[tag] = scope.line(key, longest: FieldLimits.title, required: true)
        }
        return lines
    }

    /// Reads the templates of each language.
    func languages(_ language: LanguageTag?, _ gaps: PlaceholderNames, required: Bool = false) -> LanguageSet {
        let words = perLanguage("templates", language, required: required).compactMap { tag, key, scope in
            scope.scope(key, required: true).flatMap { scope -> LanguageSet.Text? in
                scope.expectKeys(CatalogKeys.words)
                let title = scope.template("title", gaps, tag, required: true)
                let body = scope.template("body", gaps, tag)
                let plain = scope.plainWords(gaps, tag)
                return title.map { LanguageSet.Text(language: tag, title: $0, body: body, plain: plain) }
            }
        }
        return LanguageSet(all: words)
    }

    private func plainWords(_ gaps: PlaceholderNames, _ language: LanguageTag) -> LanguageSet.FallbackText? {
        guard let scope = scope("plain") else { return nil }
        scope.expectKeys(CatalogKeys.plainWords)
        let body = scope.template("body", gaps, language)
        return scope.template("title", gaps, language, required: true).map {
            LanguageSet.FallbackText(title: $0, body: body)
        }
    }

    /// Reads the phrases that templates share and adds them to the names for placeholders.
    ///
    /// Each phrase may use the phrases above it.
    func phrases(_ language: LanguageTag?, _ gaps: PlaceholderNames) -> PlaceholderNames {
        guard let scope = scope("phrases") else { return gaps }
        var known = gaps
        for member in scope.object.members {
            guard PlaceholderNames.isName(member.key) else {
                scope.report(member.key, "expected a name of letters, digits, _ and -")
                continue
            }
            for (tag, key, words) in scope.perLanguage(member.key, language, required: true) {
                guard let template = words.template(key, known, tag, required: true) else { continue }
                known.add(phrase: member.key, tag, template)
            }
        }
        return known
    }

    /// Returns the members of an object whose keys are languages; the app's own language must be among them.
    private func perLanguage(
        _ key: String,
        _ language: LanguageTag?,
        required: Bool
    ) -> [(tag: LanguageTag, key: String, scope: JSONScope)] {
        guard let scope = scope(key, required: required) else { return [] }
        var tags: [(tag: LanguageTag, key: String, scope: JSONScope)] = []
        for member in scope.object.members {
            guard let tag = LanguageTag(validating: member.key) else {
                scope.report(member.key, "expected \(LanguageTag.rule)")
                continue
            }
            if tags.contains(where: { $0.tag == tag }) {
                scope.report(member.key, "the language \(tag) stands here already")
            }
            tags.append((tag, member.key, scope))
        }
        if let language, !tags.contains(where: { $0.tag == language }) {
            reading.report(scope.place, "the app's own language \(language) is missing")
        }
        return tags
    }

    /// Reads a template, or reports the fault in it.
    func template(_ key: String, _ gaps: PlaceholderNames, _ language: LanguageTag, required: Bool = false) -> Template?
    {
        let text = value(key, "a non-empty string without U+0000", required: required) { value in
            value.string.flatMap { $0.isEmpty || $0.utf8.contains(0) ? nil : $0 }
        }
        return text.flatMap { parsed($0, key, gaps, language) }
    }

    private func parsed(
        _ text: String,
        _ key: String,
        _ gaps: PlaceholderNames,
        _ language: LanguageTag?
    ) -> Template? {
        do {
            return try TemplateParser.template(text, gaps, language)
        } catch {
            report(key, error.message)
            return nil
        }
    }

    /// Reads the buttons of a type's notifications.
    func actions(_ language: LanguageTag?, _ gaps: PlaceholderNames) -> [ActionTemplate] {
        let elements = value("actions", "a list of 1 to \(ActionTemplate.most) buttons") { value in
            value.array.flatMap { (1...ActionTemplate.most).contains($0.count) ? $0 : nil }
        }
        return (elements ?? []).enumerated().compactMap { index, element in
            reading.scope(of: element, at: place.key("actions").index(index))?.action(language, gaps)
        }
    }

    private func action(_ language: LanguageTag?, _ gaps: PlaceholderNames) -> ActionTemplate? {
        expectKeys(CatalogKeys.action)
        let words = perLanguage("label", language, required: true).compactMap { tag, key, scope in
            scope.line(key, longest: FieldLimits.title, required: true)
                .flatMap { scope.parsed($0, key, gaps, tag) }
                .map { LanguageSet.Text(language: tag, title: $0, body: nil, plain: nil) }
        }
        let link = link(gaps, required: true)
        return link.map { ActionTemplate(label: LanguageSet(all: words), link: $0) }
    }

    func link(_ gaps: PlaceholderNames, required: Bool = false) -> LinkTemplate? {
        guard let scope = scope("link", required: required) else { return nil }
        scope.expectKeys(CatalogKeys.link)
        let isPath: (String) -> Bool = { $0.hasPrefix("/") }
        let web = scope.route("web", "a path that begins with /", gaps, required: true, isPath)
        let mobile = scope.route("mobile", "a route that begins with /", gaps, required: true, isPath)
        let scheme = scope.route("scheme", "a URL such as drop://transactions", gaps) { $0.contains("://") }
        guard let web, let mobile else { return nil }
        return LinkTemplate(web: web, mobile: mobile, scheme: scheme)
    }

    private func route(
        _ key: String,
        _ expected: String,
        _ gaps: PlaceholderNames,
        required: Bool = false,
        _ isRight: (String) -> Bool
    ) -> Template? {
        guard let text = line(key, longest: FieldLimits.route, required: required) else { return nil }
        guard isRight(text) else {
            report(key, expected: expected)
            return nil
        }
        return parsed(text, key, gaps, nil)
    }
}
