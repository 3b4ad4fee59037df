/// Converts other applications' messages by the mappings of their app's catalogue.
extension SubmissionParser {
    /// Returns the mapping that a message names; `nil` for a message in Bellhop's own form.
    ///
    /// The routing key decides, then the CloudEvents type, the property and the body. A body's own `app` and `eventType`
    /// do not contradict the others, because they can mean anything in another application.
    func mapping(of message: InboundMessage, _ envelope: InboundEnvelope) -> (Catalog, MessageMapping)? {
        if let routed = envelope.routedNames { return catalogs.mapping(routed.app, routed.type) }
        let app = envelope.appID.flatMap { $0.isEmpty ? nil : $0 } ?? message.fields[EventField.app.rawValue]?.string
        let property = envelope.type.flatMap { $0.isEmpty ? nil : $0 }
        let name = message.cloudEvent?.type ?? property ?? message.fields[EventField.eventType.rawValue]?.string
        guard let app, let name else { return nil }
        return catalogs.mapping(app, name)
    }

    /// Returns the event that the mapping makes of the message, or the rejection, whose pointer names a place in the
    /// message.
    func converted(
        _ message: InboundMessage,
        _ envelope: InboundEnvelope,
        by mapping: MessageMapping,
        _ catalog: Catalog
    ) -> Result<Submission, Rejection> {
        var conversion = MessageConversion(mapping, of: message.fields, at: message.base)
        do throws(FieldFault) {
            guard case .event(let type, let fields) = try conversion.run() else {
                return .success(.ignored(app: catalog.app, mapping: mapping.name))
            }
            let event = try event(type, fields, conversion, (message, envelope), catalog)
            try conversion.check(event)
            return .success(.event(event))
        } catch {
            // The type is known as soon as the message has named it; until then the mapping's name stands for it.
            let type = conversion.type ?? mapping.name
            return .failure(Rejection(error, app: catalog.app, type: type, id: nil))
        }
    }

    private func event(
        _ type: EventType,
        _ fields: JSONObject,
        _ conversion: MessageConversion,
        _ source: (message: InboundMessage, envelope: InboundEnvelope),
        _ catalog: Catalog
    ) throws(FieldFault) -> Event {
        guard let policy = catalog[type] else {
            throw FieldFault(.unknownType, at: source.message.base, "the app's catalogue does not know \(type)")
        }
        let reader = JSONFieldReader(fields, at: .root)
        let identity = MessageIdentity(
            InboundMessage(converted: fields, cloudEvent: source.message.cloudEvent),
            source.envelope
        )
        do throws(FieldFault) {
            let usual = catalog.namesByContent ? contentID(source.message, type) : nil
            let id = try identity.eventID(otherwise: usual)
            let time = source.message.cloudEvent?.time ?? source.envelope.timestamp.flatMap(Timestamp.init(seconds:))
            let isAddressed = reader[EventField.to.rawValue] != nil
            let defaults = Event.Defaults(
                time: time,
                trace: MessageIdentity(source.message, source.envelope).traceParent,
                audience: isAddressed ? nil : try policy.audience?.audience(from: reader),
                mapping: conversion.name,
                read: { catalog.reading(of: $0, for: policy) }
            )
            return try Event(reader, (catalog.app, type, id), defaults)
        } catch {
            throw conversion.located(error)
        }
    }
}
