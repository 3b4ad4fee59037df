/// The target of a tap that an event names, which replaces the catalogue's link.
public enum EventRoute: Hashable, Sendable {
    /// One route for all clients.
    case shared(String)
    /// Separate routes for the web and for phones; the catalogue's link supplies a missing one.
    case separate(web: String?, mobile: String?, scheme: String?)

    /// Reads a string, or an object with at least one of `web`, `mobile` and `scheme`.
    init?(_ reader: JSONFieldReader) throws(FieldFault) {
        let key = EventField.route.rawValue
        guard case .object(let object)? = reader[key] else {
            guard let route = try reader.line(key, longest: FieldLimits.route) else { return nil }
            self = .shared(route)
            return
        }
        let routes = JSONFieldReader(object, at: reader.place(key))
        let web = try routes.line("web", longest: FieldLimits.route)
        let mobile = try routes.line("mobile", longest: FieldLimits.route)
        let scheme = try routes.line("scheme", longest: FieldLimits.route)
        guard web != nil || mobile != nil || scheme != nil else {
            throw FieldFault(.invalidField, at: reader.place(key), "expected at least one of web, mobile and scheme")
        }
        guard scheme?.contains("://") ?? true else {
            throw FieldFault(.invalidField, at: routes.place("scheme"), "expected a URL such as drop://transactions")
        }
        self = .separate(web: web, mobile: mobile, scheme: scheme)
    }

    /// The route in the form of a message.
    var json: JSONValue {
        switch self {
        case .shared(let route): return .string(route)
        case .separate(let web, let mobile, let scheme):
            var routes = JSONObject()
            routes["mobile"] = mobile.map(JSONValue.string)
            routes["scheme"] = scheme.map(JSONValue.string)
            routes["web"] = web.map(JSONValue.string)
            return .object(routes)
        }
    }
}
