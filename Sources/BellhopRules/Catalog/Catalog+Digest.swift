extension Catalog {
    /// The words and the link of one digest; nil where the app has none, or nothing was gathered.
    ///
    /// `titles` are those of the gathered notifications, the most important first; `count` is how many were gathered,
    /// which may be more. Titles that do not fit are left out and counted in `more`.
    public func renderDigest(titles: [String], count: Int, language: LanguageTag?) -> RenderedContent? {
        guard let digest, !titles.isEmpty,
            let words = digest.words.words(for: language, otherwise: self.language)
        else { return nil }
        for shown in stride(from: digest.titleCount, through: 1, by: -1) {
            let values = DigestValues(titles: titles, count: count, shown: shown).templateValues
            var faults: [ValueFault] = []
            let title = words.title.filled(from: values, &faults)
            let body = words.body?.filled(from: values, &faults) ?? ""
            let fits = title.hasLength(1...FieldLimits.title) && body.hasLength(0...FieldLimits.body)
            guard faults.isEmpty, fits else { continue }
            let link = (digest.link ?? link).flatMap { $0.filled(from: values) }
            return RenderedContent(title: title, body: body, link: link, wasRerouted: false)
        }
        return nil
    }
}

/// What a digest's templates can name, with a number of titles shown.
private struct DigestValues {
    let titles: [String]
    let count: Int
    let shown: Int

    var templateValues: TemplateValues {
        var distinct: [String] = []
        for title in titles where distinct.count < shown && !distinct.contains(title) { distinct.append(title) }
        let behind = titles.reduce(into: 0) { $0 += distinct.contains($1) ? 1 : 0 }
        return TemplateValues(
            data: [
                "count": .number(JSONNumber(Int64(clamping: count))),
                "titles": .string(distinct.joined(separator: ", ")),
                "more": .number(JSONNumber(Int64(clamping: max(count - behind, 0)))),
            ]
        )
    }
}
