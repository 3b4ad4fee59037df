/// A notification's texts and link, ready for a user.
public struct RenderedContent: Hashable, Sendable {
    /// The title; never empty.
    public let title: String
    /// The body; may be empty.
    public let body: String
    /// The target of a tap; `nil` if neither the event nor the catalogue defines one.
    public package(set) var link: DeepLink?
    /// The outdated route, as the catalogue writes it, if the event named that route or one below it.
    ///
    /// Such events are counted until producers no longer send them.
    public let reroutedFrom: String?
}

extension Catalog {
    /// Renders the texts and the link of an event in a user's language.
    ///
    /// An explicit title or body replaces the template's, each independently. If the template lacks values, its plain
    /// texts are used. If these lack values, too, the event is rejected with a pointer to the template's first missing
    /// value and the names of the others. An event without a title is rejected if there is no template. If a link lacks
    /// a value, the app's own link replaces it, because the texts are worth delivering without it.
    public func render(_ event: Event, language: LanguageTag?) -> Result<RenderedContent, Rejection> {
        do {
            return .success(try rendered(event, language))
        } catch {
            return .failure(Rejection(error, app: event.app, type: event.type, id: event.id))
        }
    }

    /// Returns the language in which a user receives a type's texts; `nil` if producers supply the texts.
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
        var renderer = TemplateRenderer(TemplateValues(content))
        let words = types[position].words.words(for: language, otherwise: self.language)
        guard let filled = try Self.words(of: content, words, &renderer) else {
            throw FieldFault(
                .invalidField,
                at: JSONPointer.root.key(EventField.title.rawValue),
                "this type has no template, so the event must bring a title"
            )
        }
        let (title, body) = filled
        if content.title == nil { try Self.check(title, 1...FieldLimits.title) }
        if content.body == nil { try Self.check(body, 0...FieldLimits.body) }
        switch content.route {
        case nil:
            return RenderedContent(title: title, body: body, link: link(position, &renderer), reroutedFrom: nil)
        case .shared(let route)?:
            let successor = routes.rewritten(route)
            let link = DeepLink(web: successor?.route ?? route, mobile: successor?.route ?? route, scheme: nil)
            return RenderedContent(title: title, body: body, link: link, reroutedFrom: successor?.old)
        case .separate(let web, let mobile, let scheme)?:
            let (newWeb, newMobile) = (web.flatMap(routes.rewritten), mobile.flatMap(routes.rewritten))
            let own = link(position, &renderer)
            let link = DeepLink(
                web: newWeb?.route ?? web ?? own?.web ?? Self.home,
                mobile: newMobile?.route ?? mobile ?? own?.mobile ?? Self.home,
                // The catalogue's URL belongs to its route for phones.
                scheme: scheme ?? (mobile == nil ? own?.scheme : nil)
            )
            return RenderedContent(title: title, body: body, link: link, reroutedFrom: newWeb?.old ?? newMobile?.old)
        }
    }

    /// The target of a tap on a kind of client for which neither the event nor the catalogue names one.
    private static let home = "/"

    /// Returns title and body; `nil` if there is no source for a title.
    ///
    /// If the templates lack values, the plain texts replace both templates, because title and body must belong
    /// together.
    private static func words(
        of content: EventContent,
        _ words: LanguageSet.Text?,
        _ renderer: inout TemplateRenderer<TemplateValues>
    ) throws(FieldFault) -> (title: String, body: String)? {
        let title = content.title ?? words.map { renderer.text(of: $0.title) }
        guard let title else { return nil }
        let body = content.body ?? (words?.body).map { renderer.text(of: $0) } ?? ""
        guard let fault = FieldFault(renderer.faults) else { return (title, body) }
        guard let plain = words?.plain else { throw fault }
        renderer.forgetFaults()
        let plainTitle = content.title ?? renderer.text(of: plain.title)
        let plainBody = content.body ?? plain.body.map { renderer.text(of: $0) } ?? ""
        guard renderer.faults.isEmpty else { throw fault }
        return (plainTitle, plainBody)
    }

    private func link(_ position: Int, _ renderer: inout TemplateRenderer<TemplateValues>) -> DeepLink? {
        types[position].link.flatMap { renderer.link(of: $0) } ?? link.flatMap { renderer.link(of: $0) }
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
