import BellhopRules
import Store

/// One line of a file of past notifications.
struct HistoryLine {
    /// The reason why a line cannot be imported: its place in the line, and the expectation.
    struct Fault: Error {
        let pointer: String
        let message: String

        var description: String { pointer.isEmpty ? message : "at \(pointer): \(message)" }
    }

    let notification: HistoricNotification
    let createdAt: Timestamp
    /// The size of the text in bytes.
    let bytes: Int

    /// Reads a line as an event with its time, so that the rules of events and the app's catalogue apply.
    init(_ body: [UInt8], _ catalogs: CatalogSet, now: Timestamp) throws(Fault) {
        let fields = try Self.object(body)
        let app = try Self.required(fields, "app", AppID.init(validating:), AppID.rule)
        guard let catalog = catalogs[app] else { throw Fault("/app", "no catalogue describes this app") }
        let user = try Self.required(fields, "userId", UserID.init(validating:), UserID.rule)
        let idKey = fields["id"] == nil && fields["key"] != nil ? "key" : "id"
        let id = try Self.required(fields, idKey, EventID.init(validating:), EventID.rule)
        let type = try Self.required(fields, "type", EventType.init(validating:), EventType.rule)
        guard let known = catalog[type] else { throw Fault("/type", "the app's catalogue does not know this type") }
        let created = try Self.required(fields, "createdAt", Timestamp.init(validating:), Timestamp.rule)
        guard created.microseconds <= now.microseconds else { throw Fault("/createdAt", "expected a time in the past") }
        let readAt = try Self.readAt(fields, created)
        let event = try Self.event(fields, (app, user, id, type, created), idKey, catalogs)
        var rendered = try Self.rendered(event, catalog)
        if let link = try Self.link(fields) { rendered.link = link }
        let text = NotificationText(
            event: event,
            contentHash: ContentHash(of: event),
            rendered: rendered,
            type: known,
            in: catalog,
            expiresAt: nil
        )
        notification = HistoricNotification(InboxRecord(text, for: user), readAt: readAt)
        createdAt = created
        bytes = text.bytes
    }

    private static func object(_ body: [UInt8]) throws(Fault) -> JSONObject {
        switch JSONParser(limits: .event).parse(body) {
        case .failure(let fault): throw Fault("", "\(fault.code.rawValue) (column \(fault.column))")
        case .success(let value):
            guard let object = value.object else { throw Fault("", "expected an object") }
            return object
        }
    }

    private static func required<Value>(
        _ fields: JSONObject,
        _ key: String,
        _ read: (String) -> Value?,
        _ rule: String
    ) throws(Fault) -> Value {
        guard let value = try optional(fields, key, read, rule) else {
            throw Fault("/\(key)", "expected \(rule), found no value")
        }
        return value
    }

    private static func optional<Value>(
        _ fields: JSONObject,
        _ key: String,
        _ read: (String) -> Value?,
        _ rule: String
    ) throws(Fault) -> Value? {
        guard let found = fields[key], found != .null else { return nil }
        guard let value = found.string.flatMap(read) else { throw Fault("/\(key)", "expected \(rule)") }
        return value
    }

    /// Returns the time of reading; a notification that is only marked as read was read when it was created.
    private static func readAt(_ fields: JSONObject, _ created: Timestamp) throws(Fault) -> Timestamp? {
        let time = try optional(fields, "readAt", Timestamp.init(validating:), Timestamp.rule)
        guard let found = fields["read"], found != .null else { return time }
        guard let isRead = found.bool else { throw Fault("/read", "expected a boolean") }
        guard isRead || time == nil else { throw Fault("/read", "expected true, since readAt is given") }
        return isRead ? time ?? created : nil
    }

    private static func link(_ fields: JSONObject) throws(Fault) -> DeepLink? {
        guard let found = fields["link"], found != .null else { return nil }
        guard let object = found.object else { throw Fault("/link", "expected an object with web and mobile") }
        var paths: [String: String] = [:]
        for key in ["web", "mobile"] {
            guard let path = object[key], path != .null else { continue }
            guard let text = path.string, text.hasPrefix("/"), text.utf8.count <= longestPath else {
                throw Fault("/link/\(key)", "expected a path that begins with /, at most \(longestPath) bytes")
            }
            paths[key] = text
        }
        guard let web = paths["web"] ?? paths["mobile"] else { throw Fault("/link", "expected web, mobile or both") }
        return DeepLink(web: web, mobile: paths["mobile"] ?? web)
    }

    private static let longestPath = 2_000

    private typealias Names = (app: AppID, user: UserID, id: EventID, type: EventType, created: Timestamp)

    private static func event(
        _ fields: JSONObject,
        _ names: Names,
        _ idKey: String,
        _ catalogs: CatalogSet
    ) throws(Fault) -> Event {
        var members: [(String, JSONValue)] = [
            ("app", .string(names.app.text)), ("eventType", .string(names.type.text)), ("id", .string(names.id.text)),
            ("to", .members([("user", .string(names.user.text))])), ("sentAtIso", .string(names.created.description)),
        ]
        for key in copied { if let value = fields[key] { members.append((key, value)) } }
        let body = JSONWriter.canonicalBytes(of: .members(members))
        switch SubmissionParser(catalogs).parse(InboundEnvelope(body: body, source: .elsewhere)) {
        case .success(.event(let event)): return event
        case .success: throw Fault("/type", "expected an event type, found a feed message")
        case .failure(let rejection): throw Fault(rejection, idKey)
        }
    }

    /// The members that have the same name and rules as those of an event.
    private static let copied = [
        "title", "body", "data", "route", "targetId", "metadata", "venueId", "imageUrl", "collapseKey",
    ]

    private static func rendered(_ event: Event, _ catalog: Catalog) throws(Fault) -> RenderedContent {
        switch catalog.render(event, language: nil) {
        case .success(let content): return content
        case .failure(let rejection): throw Fault(rejection, "id")
        }
    }
}

extension HistoryLine.Fault {
    fileprivate init(_ pointer: String, _ message: String) {
        self.pointer = pointer
        self.message = message
    }

    /// Converts the place of an event's fault to the place in the line.
    fileprivate init(_ rejection: Rejection, _ idKey: String) {
        let names = ["/to/user": "/userId", "/eventType": "/type", "/sentAtIso": "/createdAt", "/id": "/\(idKey)"]
        let place = rejection.pointer.description
        self.init(names[place] ?? place, rejection.message)
    }
}
