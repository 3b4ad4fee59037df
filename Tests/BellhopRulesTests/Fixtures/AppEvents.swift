import BellhopRules
import Testing

/// Events of the apps with shipped catalogues.
enum AppEvents {
    /// Returns the event as its producer would send it; `fields` are added to the app, the type and the audience.
    static func event(_ app: String, _ type: String, _ fields: JSONObject = [:]) throws -> Event {
        guard case .event(let event) = try submission(app, type, fields).get() else { throw NotAnEvent() }
        return event
    }

    /// Returns such an event as the parser reads or rejects it.
    static func submission(
        _ app: String,
        _ type: String,
        _ fields: JSONObject
    ) throws -> Result<Submission, Rejection> {
        var body: JSONObject = [
            "id": "e1", "app": .string(app), "eventType": .string(type), "to": ["user": "u1"],
        ]
        for member in fields.members { body[member.key] = member.value }
        return SubmissionParser(try Repository.catalogs()).parse(SampleMessages.envelope(body))
    }

    /// Returns the event as a user of this language gets it.
    static func rendered(
        _ app: String,
        _ type: String,
        _ fields: JSONObject = [:],
        language: String? = nil
    ) throws -> Result<RenderedContent, Rejection> {
        let language = try language.map { try #require(LanguageTag(validating: $0)) }
        return try Repository.catalog(app).render(try event(app, type, fields), language: language)
    }

    private struct NotAnEvent: Error {}
}
