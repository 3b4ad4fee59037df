/// A notification's words and link, ready for a reader.
public struct RenderedContent: Hashable, Sendable {
    /// Never empty.
    public let title: String
    /// May be empty.
    public let body: String
    /// Where a tap leads, nil where nothing says so.
    public let link: DeepLink?
    /// The route that leads elsewhere by now, as the catalogue writes it, where the event named it or something below it;
    /// worth counting until none comes any more.
    public let reroutedFrom: String?
}

extension Catalog {
    /// Makes the words and the link of an event for a reader of a language.
    ///
    /// Explicit words win over the template's, each for itself. An event whose template lacks values is rejected, with
    /// a pointer to the first and the names of the others, unless the plain words do without them; so is one without a title where there is no template. A link
    /// that lacks a value gives way to the app's own link instead: the words are worth delivering without it.
    public func render(_ event: Event, language: LanguageTag?) -> Result<RenderedContent, Rejection> {
        do {
            return .success(try rendered(event, language))
        } catch {
            return .failure(Rejection(error, app: event.app, type: event.type, id: event.id))
        }
    }

    /// The language in which a reader gets a type's words; nil where producers bring the words.
    public func language(of type: EventType, for locale: LanguageTag) -> LanguageTag? {
        self[type]?.words.words(for: locale, otherwise: language)?.language
    }

    private func rendered(_ event: Event, _ language: LanguageTag?) throws(FieldFault) -> RenderedContent {
        guard let position = position(of: event.type) else {
            throw FieldFault(
                .unknownType,
                at: JSONPointer.root.key("eventType"),
                "the app's catalogue does not know this type"
            )
        }
        let content = event.content
        let values = TemplateValues(content)
        let words = types[position].words.words(for: language, otherwise: self.language)
        guard let filled = try Self.words(of: content, words, values) else {
            throw FieldFault(
                .invalidField,
                at: JSONPointer.root.key(EventField.title.rawValue),
                "this type has no template, so the event must bring a title"
            )
        }
        let (title, body) = filled
        if content.title == nil { try Self.check(title, 1...FieldLimits.title) }
        if content.body == nil { try Self.check(body, 0...FieldLimits.body) }
        guard let route = content.route else {
            return RenderedContent(title: title, body: body, link: link(from: values, position), reroutedFrom: nil)
        }
        let successor = routes.rewritten(route)
        let link = DeepLink(web: successor?.route ?? route, mobile: successor?.route ?? route, scheme: nil)
        return RenderedContent(title: title, body: body, link: link, reroutedFrom: successor?.old)
    }

    /// Title and body; nil where nothing makes a title.
    ///
    /// Where the templates lack values, the plain ones stand in for both: half of each would not be one notification.
    private static func words(
        of content: EventContent,
        _ words: LanguageSet.Words?,
        _ values: TemplateValues
    ) throws(FieldFault) -> (title: String, body: String)? {
        var faults: [ValueFault] = []
        let title = content.title ?? words?.title.filled(from: values, &faults)
        guard let title else { return nil }
        let body = content.body ?? words?.body?.filled(from: values, &faults) ?? ""
        guard let fault = FieldFault(faults) else { return (title, body) }
        guard let plain = words?.plain else { throw fault }
        var plainFaults: [ValueFault] = []
        let plainTitle = content.title ?? plain.title.filled(from: values, &plainFaults)
        let plainBody = content.body ?? plain.body?.filled(from: values, &plainFaults) ?? ""
        guard plainFaults.isEmpty else { throw fault }
        return (plainTitle, plainBody)
    }

    private func link(from values: TemplateValues, _ position: Int) -> DeepLink? {
        types[position].link?.filled(from: values) ?? link?.filled(from: values)
    }

    private static func check(_ text: String, _ length: ClosedRange<Int>) throws(FieldFault) {
        guard !text.hasLength(length) else { return }
        let fault = text.isEmpty ? "empty" : "longer than \(length.upperBound) characters"
        throw FieldFault(
            .invalidField,
            at: JSONPointer.root.key(EventField.data.rawValue),
            "the template filled with these values is \(fault)"
        )
    }
}
