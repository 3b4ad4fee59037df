/// Reads one catalogue file.
///
/// Every key is known or a fault, and every fault is reported; a catalogue comes out only where what it stands on could
/// be read.
struct CatalogReader {
    private static let keys = ["app", "language", "timezone", "aliases", "link", "types"]

    private let root: CatalogScope
    private let language: LanguageTag?
    private let aliases: [String: String]

    static func read(_ bytes: [UInt8], _ sink: CatalogFaultSink) -> Catalog? {
        let parser = JSONParser(dialect: .json5, limits: .catalog)
        switch bytes.withUnsafeBufferPointer({ parser.document($0, recordingPlaces: true) }) {
        case .failure(let fault):
            sink.report(fault)
            return nil
        case .success(let document):
            sink.places = document.places
            guard case .object(let object) = document.root else {
                sink.report(.root, "expected an object, found \(document.root.describedKind)")
                return nil
            }
            return CatalogReader(CatalogScope(object: object, place: .root, sink: sink)).catalog()
        }
    }

    private init(_ root: CatalogScope) {
        self.root = root
        root.expectKeys(Self.keys)
        language = root.identifier("language")
        aliases = Self.aliases(root)
    }

    private func catalog() -> Catalog? {
        let app = root.identifier("app", as: AppID.self)
        let timezone = root.identifier("timezone", as: TimeZoneName.self)
        let link = self.link(root)
        let types = self.types()
        guard let app, let timezone, let language else { return nil }
        return Catalog(app: app, language: language, timezone: timezone, link: link, types: types)
    }

    /// Other names for what a placeholder can name.
    private static func aliases(_ root: CatalogScope) -> [String: String] {
        guard let scope = root.scope("aliases", required: false) else { return [:] }
        var aliases: [String: String] = [:]
        for member in scope.object.members {
            guard Template.isName(member.key), let name = member.value.string, Template.isName(name) else {
                scope.report(member.key, expected: "names of letters, digits, _ and - on both sides")
                continue
            }
            aliases[member.key] = name
        }
        return aliases
    }

    private func types() -> [CatalogType] {
        guard let scope = root.scope("types", required: true) else { return [] }
        if scope.object.isEmpty { root.report("types", expected: "at least one type") }
        return scope.object.members.compactMap { member in
            guard let type = EventType(validating: member.key) else {
                scope.sink.report(scope.place.key(member.key), "expected a type's name of \(EventType.rule)")
                return nil
            }
            if FeedType(rawValue: member.key) != nil || member.key == SubmissionParser.cancellationType {
                scope.sink.report(scope.place.key(member.key), "every app has this type; choose another name")
            }
            return scope.scope(member.key, required: true).flatMap { self.type(type, $0) }
        }
    }

    private func type(_ type: EventType, _ scope: CatalogScope) -> CatalogType? {
        scope.expectKeys([
            "priority", "label", "icon", "color", "background", "android", "defaults", "templates", "link",
        ])
        let words = FieldReader.oneOf(Priority.self)
        let priority = scope.value("priority", words, required: true) { $0.string.flatMap(Priority.init(rawValue:)) }
        let defaults = scope.scope("defaults", required: false)
        defaults?.expectKeys(["push", "email"])
        let type = CatalogType(
            type: type,
            priority: priority ?? .normal,
            labels: labels(scope),
            icon: scope.line("icon", required: false),
            color: color("color", scope),
            background: color("background", scope),
            androidChannel: androidChannel(scope),
            pushByDefault: defaults?.value("push", "true or false", required: false, \.bool) ?? true,
            emailByDefault: defaults?.value("email", "true or false", required: false, \.bool) ?? (priority == .high),
            link: link(scope),
            words: self.words(scope)
        )
        return priority == nil ? nil : type
    }

    private func labels(_ scope: CatalogScope) -> [LanguageTag: String] {
        var labels: [LanguageTag: String] = [:]
        for (tag, scope) in perLanguage("label", scope, required: true) {
            labels[tag.tag] = scope.line(tag.key, required: true)
        }
        return labels
    }

    private func words(_ scope: CatalogScope) -> [CatalogType.Words] {
        perLanguage("templates", scope, required: false).compactMap { tag, scope in
            guard let scope = scope.scope(tag.key, required: true) else { return nil }
            scope.expectKeys(["title", "body"])
            let title = scope.template("title", aliases: aliases, required: true)
            let body = scope.template("body", aliases: aliases, required: false)
            return title.map { CatalogType.Words(language: tag.tag, title: $0, body: body) }
        }
    }

    /// The members of an object whose keys are languages, the app's own among them.
    private func perLanguage(
        _ key: String,
        _ scope: CatalogScope,
        required: Bool
    ) -> [(tag: (key: String, tag: LanguageTag), scope: CatalogScope)] {
        guard let scope = scope.scope(key, required: required) else { return [] }
        let tags = scope.object.members.compactMap { member -> (key: String, tag: LanguageTag)? in
            guard let tag = LanguageTag(validating: member.key) else {
                scope.sink.report(scope.place.key(member.key), "expected \(LanguageTag.rule)")
                return nil
            }
            return (member.key, tag)
        }
        if let language, !tags.contains(where: { $0.tag == language }) {
            scope.sink.report(scope.place, "the app's own language \(language) is missing")
        }
        return tags.map { ($0, scope) }
    }

    private func androidChannel(_ scope: CatalogScope) -> String? {
        guard let android = scope.scope("android", required: false) else { return nil }
        android.expectKeys(["channel"])
        return android.line("channel", required: true)
    }

    private func color(_ key: String, _ scope: CatalogScope) -> String? {
        scope.value(key, "a colour such as #0B6E35", required: false) { value in
            guard let text = value.string, text.utf8.count == 7, text.utf8.first == UInt8(ascii: "#") else {
                return nil
            }
            return text.utf8.dropFirst().allSatisfy { JSONReader.hexadecimalDigit($0) != nil } ? text : nil
        }
    }

    private func link(_ scope: CatalogScope) -> LinkTemplate? {
        guard let scope = scope.scope("link", required: false) else { return nil }
        scope.expectKeys(["web", "mobile", "scheme"])
        let isPath: (String) -> Bool = { $0.hasPrefix("/") }
        let web = route("web", "a path that begins with /", scope, required: true, isPath)
        let mobile = route("mobile", "a route that begins with /", scope, required: true, isPath)
        let scheme = route("scheme", "a URL such as drop://transactions", scope, required: false) { $0.contains("://") }
        guard let web, let mobile else { return nil }
        return LinkTemplate(web: web, mobile: mobile, scheme: scheme)
    }

    private func route(
        _ key: String,
        _ expected: String,
        _ scope: CatalogScope,
        required: Bool,
        _ isRight: (String) -> Bool
    ) -> Template? {
        if let text = scope.object[key]?.string, !isRight(text) {
            scope.report(key, expected: expected)
            return nil
        }
        return scope.template(key, aliases: aliases, required: required)
    }
}
