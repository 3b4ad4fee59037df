extension Rejection {
    /// Names whose the message is as far as that can be read: the first legible claim of each kind, whether or not the
    /// claims agree; good for a dead-letter record, never for delivery.
    ///
    /// `document` is the body's object, where it was one.
    init(_ fault: FieldFault, of envelope: InboundEnvelope, _ document: JSONObject?) {
        let isCloudEvent = document?["specversion"] != nil
        let fields = isCloudEvent ? document?["data"]?.object : document
        let attributes = isCloudEvent ? document : nil
        let routed = envelope.routedNames
        let apps = [fields?["app"]?.string, envelope.appID, routed.map { String($0.app) }]
        let routedType = routed.map { String($0.type) }
        let types = [fields?["eventType"]?.string, attributes?["type"]?.string, envelope.type, routedType]
        var ids = [fields?["id"]?.string, envelope.messageID]
        if let source = attributes?["source"]?.string, let id = attributes?["id"]?.string {
            ids.append("\(source)/\(id)")
        }
        self.init(
            fault,
            app: apps.lazy.compactMap { $0.flatMap(AppID.init(validating:)) }.first,
            type: types.lazy.compactMap { $0.flatMap(EventType.init(validating:)) }.first,
            id: ids.lazy.compactMap { $0.flatMap(EventID.init(validating:)) }.first
        )
    }
}
