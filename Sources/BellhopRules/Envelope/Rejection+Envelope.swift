extension Rejection {
    /// `document` is the body's object, where it was one.
    init(_ fault: FieldFault, of envelope: InboundEnvelope, _ document: JSONObject?) {
        let names = LegibleNames(envelope, document)
        self.init(fault, app: names.app, type: names.eventType, id: names.eventID)
    }
}
