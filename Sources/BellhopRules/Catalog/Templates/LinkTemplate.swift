/// The target of a tap, by platform, with placeholders for the event's values.
public struct LinkTemplate: Hashable, Sendable {
    let web: Template
    let mobile: Template
    let scheme: Template?

    /// Returns the link; `nil` if it lacks a value.
    func filled(from values: TemplateValues) -> DeepLink? {
        var faults: [ValueFault] = []
        let link = DeepLink(
            web: web.filled(from: values, quoting: .link, &faults),
            mobile: mobile.filled(from: values, quoting: .link, &faults),
            scheme: scheme?.filled(from: values, quoting: .link, &faults)
        )
        return faults.isEmpty ? link : nil
    }
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
