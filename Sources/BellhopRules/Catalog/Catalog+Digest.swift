extension Catalog {
    /// Renders the texts and the link of one digest; `nil` if the app has no digest or nothing was gathered.
    ///
    /// `titles` are those of the gathered notifications, the most important first. `count` is the number of gathered
    /// notifications and may be larger. Long titles are cut. Titles that do not fit are left out and counted in `more`.
    public func renderDigest(titles: [String], count: Int, language: LanguageTag?) -> RenderedContent? {
        guard let digest, let first = titles.first,
            let words = digest.words.words(for: language, otherwise: self.language)
        else { return nil }
        var link: DeepLink?
        var title = ""
        var body = ""
        // A catalogue allows at least one title, and a digest's templates use only known names.
        for shown in stride(from: digest.titleCount, through: 1, by: -1) {
            var renderer = TemplateRenderer(DigestValues(titles: titles, count: count, shown: shown).templateValues)
            title = renderer.text(of: words.title)
            body = words.body.map { renderer.text(of: $0) } ?? ""
            link = (digest.link ?? self.link).flatMap { renderer.link(of: $0) }
            if title.hasLength(0...FieldLimits.title), body.hasLength(0...FieldLimits.body) { break }
        }
        return RenderedContent(
            title: (title.isEmpty ? first : title).shortened(toLength: FieldLimits.title),
            body: body.shortened(toLength: FieldLimits.body),
            link: link,
            reroutedFrom: nil
        )
    }
}

extension String {
    /// Returns the text itself, or as many whole characters as fit before an ellipsis.
    ///
    /// Lengths are counted in code points.
    fileprivate func shortened(toLength longest: Int) -> String {
        guard !hasLength(0...longest) else { return self }
        var left = longest - 1
        let kept = prefix { character in
            left -= character.unicodeScalars.count
            return left >= 0
        }
        return kept + "…"
    }
}

/// The values that a digest's templates can use, for a given number of shown titles.
private struct DigestValues {
    /// The maximum length of a title in characters.
    private static let longestTitle = 120

    let titles: [String]
    let count: Int
    let shown: Int

    var templateValues: TemplateValues {
        var distinct: [String] = []
        for title in titles where distinct.count < shown && !distinct.contains(title) { distinct.append(title) }
        let told = distinct.map { $0.shortened(toLength: Self.longestTitle) }
        let behind = titles.reduce(into: 0) { $0 += distinct.contains($1) ? 1 : 0 }
        return TemplateValues(
            data: [
                "count": .number(JSONNumber(Int64(clamping: count))),
                "titles": .string(told.joined(separator: ", ")),
                "more": .number(JSONNumber(Int64(clamping: max(count, behind) - behind))),
            ]
        )
    }
}
