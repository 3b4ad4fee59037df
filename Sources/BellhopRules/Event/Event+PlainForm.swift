extension Event {
    /// Returns the event as a plain JSON body, complete and canonical.
    ///
    /// Parsing it gives an equal event, whatever the original form was.
    ///
    /// An event is stored in this form until it is due, and is then published in it `withoutDeliverAt`. `expiresAt` is
    /// used for an event without its own value, and `audience` replaces the event's.
    public func plainForm(
        for audience: Audience? = nil,
        expiresAt: Timestamp? = nil,
        withoutDeliverAt: Bool = false
    ) -> [UInt8] {
        var fields = JSONObject()
        fields[EventField.id.rawValue] = .string(id.text)
        fields[EventField.app.rawValue] = .string(app.text)
        fields[EventField.eventType.rawValue] = .string(type.text)
        fields[EventField.to.rawValue] = .object((audience ?? self.audience).plainForm)
        fields[EventField.title.rawValue] = content.title.map(JSONValue.string)
        fields[EventField.body.rawValue] = content.body.map(JSONValue.string)
        fields[EventField.data.rawValue] = content.data.isEmpty ? nil : .object(content.data)
        fields[EventField.route.rawValue] = content.route.map(JSONValue.string)
        fields[EventField.targetId.rawValue] = content.targetID.map(JSONValue.string)
        fields[EventField.metadata.rawValue] = content.metadata.isEmpty ? nil : .object(content.metadata)
        fields[EventField.venueId.rawValue] = content.venueID.map(JSONValue.string)
        fields[EventField.imageUrl.rawValue] = content.imageURL.map(JSONValue.string)
        fields[EventField.collapseKey.rawValue] = content.collapseKey.map(JSONValue.string)
        fields[EventField.noEmail.rawValue] = content.isNeverMailed ? .bool(true) : nil
        fields[EventField.sentAtIso.rawValue] = (sentAt?.description).map(JSONValue.string)
        let deliverAt = withoutDeliverAt ? nil : self.deliverAt
        fields[EventField.deliverAt.rawValue] = (deliverAt?.description).map(JSONValue.string)
        fields[EventField.expiresAt.rawValue] = ((self.expiresAt ?? expiresAt)?.description).map(JSONValue.string)
        fields[TraceParent.Name.parent] = (traceParent?.text).map(JSONValue.string)
        fields[TraceParent.Name.state] = (traceParent?.state).map(JSONValue.string)
        return JSONWriter.canonicalBytes(of: .object(fields))
    }
}

extension Audience {
    fileprivate var plainForm: JSONObject {
        switch self {
        case .users(let users): JSONObject([("users", .array(users.map { .string($0.text) }))])
        case .topic(let topic): JSONObject([("topic", .string(topic.text))])
        case .everyone: JSONObject([("everyone", .bool(true))])
        }
    }
}
