/// Where a tap leads, per platform, with gaps for the event's values.
public struct LinkTemplate: Hashable, Sendable {
    let web: Template
    let mobile: Template
    let scheme: Template?

    func filled(from values: TemplateValues) throws(FieldFault) -> DeepLink {
        var schemeText: String?
        if let scheme { schemeText = try scheme.filled(from: values, quoting: .link) }
        return DeepLink(
            web: try web.filled(from: values, quoting: .link),
            mobile: try mobile.filled(from: values, quoting: .link),
            scheme: schemeText
        )
    }
}

/// Where a tap on one notification leads.
public struct DeepLink: Hashable, Sendable {
    /// Path of the web app.
    public let web: String
    /// Route of the mobile app.
    public let mobile: String
    /// URL of the app's own scheme, where the catalogue has one.
    public let scheme: String?

    /// The link as it is stored and served: `{"mobile": …, "web": …}`.
    public var json: JSONObject {
        ["mobile": .string(mobile), "web": .string(web)]
    }
}
