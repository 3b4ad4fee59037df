import BellhopRules
import Testing

/// Builds messages and parses them.
enum SampleMessages {
    /// A complete event of drop, to which tests add fields or from which they remove some.
    static let complete: JSONObject = [
        "id": "evt_1", "app": "drop", "eventType": "security", "to": ["user": "u1"], "title": "Ny pålogging",
    ]

    static func envelope(_ text: String, source: InboundEnvelope.Source = .elsewhere) -> InboundEnvelope {
        InboundEnvelope(body: Array(text.utf8), source: source)
    }

    static func envelope(_ object: JSONObject) -> InboundEnvelope {
        InboundEnvelope(body: JSONWriter.canonicalBytes(of: .object(object)), source: .elsewhere)
    }

    static func parse(_ envelope: InboundEnvelope) throws -> Result<Submission, Rejection> {
        SubmissionParser(try Repository.drop()).parse(envelope)
    }

    static func event(_ envelope: InboundEnvelope, _ place: SourceLocation = #_sourceLocation) throws -> Event {
        guard case .event(let event) = try parse(envelope).get() else {
            Issue.record("this is no event", sourceLocation: place)
            throw NotAnEvent()
        }
        return event
    }

    static func rejection(_ envelope: InboundEnvelope, _ place: SourceLocation = #_sourceLocation) throws -> Rejection {
        switch try parse(envelope) {
        case .failure(let rejection): return rejection
        case .success:
            Issue.record("this should have been refused", sourceLocation: place)
            throw NotAnEvent()
        }
    }

    /// Returns the complete event with other fields; `nil` removes a field.
    static func changed(_ changes: KeyValuePairs<String, JSONValue?>) -> JSONObject {
        var object = complete
        for (key, value) in changes { object[key] = value }
        return object
    }

    private struct NotAnEvent: Error {}
}
