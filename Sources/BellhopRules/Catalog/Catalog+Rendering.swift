/// A notification's words and link, ready for a reader.
public struct RenderedContent: Hashable, Sendable {
    /// Never empty.
    public let title: String
    /// May be empty.
    public let body: String
    /// Where a tap leads, nil where nothing says so.
    public let link: DeepLink?
    /// Whether the event's route was one that leads elsewhere by now; worth counting until none comes any more.
    public let wasRerouted: Bool
}

extension Catalog {
    /// Makes the words and the link of an event for a reader of a language.
    ///
    /// Explicit words win over the template's, each for itself. An event whose template lacks values is rejected, with
    /// a pointer to the first and the names of the others; so is one without a title where there is no template. A link
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
        var faults: [ValueFault] = []
        guard let title = content.title ?? words?.title.filled(from: values, &faults) else {
            throw FieldFault(
                .invalidField,
                at: JSONPointer.root.key(EventField.title.rawValue),
                "this type has no template, so the event must bring a title"
            )
        }
        let body = content.body ?? words?.body?.filled(from: values, &faults) ?? ""
        if let fault = FieldFault(faults) { throw fault }
        if content.title == nil { try Self.check(title, 1...FieldLimits.title) }
        if content.body == nil { try Self.check(body, 0...FieldLimits.body) }
        guard let route = content.route else {
            return RenderedContent(title: title, body: body, link: link(from: values, position), wasRerouted: false)
        }
        let successor = routes.successor(of: route)
        let link = DeepLink(web: successor ?? route, mobile: successor ?? route, scheme: nil)
        return RenderedContent(title: title, body: body, link: link, wasRerouted: successor != nil)
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
