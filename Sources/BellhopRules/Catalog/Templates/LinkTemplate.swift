/// The target of a tap, by platform, with placeholders for the event's values.
public struct LinkTemplate: Hashable, Sendable {
    let web: Template
    let mobile: Template
    let scheme: Template?
}

/// The target of a tap on one notification.
public struct DeepLink: Hashable, Sendable {
    /// The path in the web app.
    public var web: String
    /// The route in the mobile app.
    public var mobile: String
    /// The URL of the app's own scheme, if the catalogue defines one.
    public var scheme: String?

    /// Creates a link for each kind of client.
    package init(web: String, mobile: String, scheme: String? = nil) {
        self.web = web
        self.mobile = mobile
        self.scheme = scheme
    }

    /// The link as it is stored and served: `{"mobile": …, "scheme"?: …, "web": …}`.
    public var json: JSONObject {
        var members = [JSONObject.Member(key: "mobile", value: .string(mobile))]
        members.append(JSONObject.Member(key: "web", value: .string(web)))
        if let scheme { members.append(JSONObject.Member(key: "scheme", value: .string(scheme))) }
        return JSONObject(unique: members)
    }
}

/// Routes that producers still send and clients no longer support, each with its replacement.
public struct RouteRewrites: Hashable, Sendable {
    struct Rewrite: Hashable {
        let old: String
        let new: String
    }

    /// The rewrites, longest first, so that the most specific one applies.
    private let rewrites: [Rewrite]

    init(_ rewrites: [Rewrite]) {
        self.rewrites = rewrites.sorted { $0.old.utf8.count > $1.old.utf8.count }
    }

    /// Returns the replacement of a route and the outdated route as the catalogue writes it; `nil` if no rewrite
    /// applies.
    ///
    /// A rewrite applies to the path itself and to paths below it, and preserves the rest. If `/schema` becomes
    /// `/schedule`, then `/schema/7?tab=1` becomes `/schedule/7?tab=1`, and `/schemata` stays. No rewrite is applied to
    /// the result of another.
    public func rewritten(_ route: String) -> (route: String, old: String)? {
        for rewrite in rewrites {
            guard route.utf8.starts(with: rewrite.old.utf8) else { continue }
            let rest = route.utf8.dropFirst(rewrite.old.utf8.count)
            guard rest.first.map("/?#".utf8.contains) ?? true else { continue }
            return (rewrite.new + String(decoding: rest, as: UTF8.self), rewrite.old)
        }
        return nil
    }
}
