extension Rejection {
    /// Creates the rejection of an envelope; `document` is the body's object if it has one.
    init(_ fault: FieldFault, of envelope: InboundEnvelope, _ document: JSONObject?) {
        let names = ParsedIdentity(envelope, document)
        self.init(fault, app: names.app, type: names.eventType, id: names.eventID)
    }
}
