/// The names of a message's app, type and id if they can be read.
///
/// Each is the first legible claim of its kind, whether or not the claims agree.
///
/// The names are suitable for a dead-letter record and never for delivery.
package struct ParsedIdentity: Sendable {
    package let app: AppID?
    package let eventType: EventType?
    package let eventID: EventID?

    /// Reads the names of a message that has not been parsed.
    package init(_ envelope: InboundEnvelope) {
        let limits = JSONParser.Limits(bytes: JSONParser.Limits.event.bytes, depth: JSONParser.Limits.event.depth + 1)
        self.init(envelope, try? JSONParser(limits: limits).parse(envelope.body).get().object)
    }

    /// Reads the names from the envelope and from `document`, the body's object if it has one.
    init(_ envelope: InboundEnvelope, _ document: JSONObject?) {
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
        app = apps.lazy.compactMap { $0.flatMap(AppID.init(validating:)) }.first
        eventType = types.lazy.compactMap { $0.flatMap(EventType.init(validating:)) }.first
        eventID = ids.lazy.compactMap { $0.flatMap(EventID.init(validating:)) }.first
    }
}
