import BellhopRules

/// Renders one template through a catalogue.
enum TemplateSample {
    /// Returns the fault of a template, or `nil` if it can be read.
    static func fault(_ template: String, language: String = "en", phrases: JSONObject = [:]) -> String? {
        catalog(template, language, phrases).failure?.faults.first?.message
    }

    /// Returns a number in the form that a producer might write.
    static func number(_ text: String) -> JSONValue {
        (try? JSONParser().parse(Array(text.utf8)).get()) ?? .null
    }

    /// Returns the text for these values.
    static func render(
        _ template: String,
        _ data: JSONObject = [:],
        language: String = "en",
        phrases: JSONObject = [:]
    ) throws -> Result<String, Rejection> {
        let set = try catalog(template, language, phrases).get()
        let body: JSONObject = ["id": "e", "app": "a", "eventType": "t", "to": ["user": "u"], "data": .object(data)]
        guard case .event(let event) = try SubmissionParser(set).parse(SampleMessages.envelope(body)).get() else {
            throw NotAnEvent()
        }
        return set.catalogs[0].render(event, language: nil).map(\.body)
    }

    private struct NotAnEvent: Error {}

    private static func catalog(
        _ template: String,
        _ language: String,
        _ phrases: JSONObject
    ) -> Result<CatalogSet, CatalogFaults> {
        func inLanguage(_ value: JSONValue) -> JSONValue { .object(JSONObject([(language, value)])) }
        let words: JSONObject = ["title": "T", "body": .string(template)]
        let type: JSONObject = [
            "priority": "normal", "label": inLanguage("T"), "templates": inLanguage(.object(words)),
        ]
        let shared = JSONObject(phrases.members.map { ($0.key, inLanguage($0.value)) })
        let file: JSONObject = [
            "app": "a", "language": .string(language), "timezone": "UTC", "types": ["t": .object(type)],
            "phrases": .object(shared),
        ]
        return CatalogSet.load(files: [("a.json5", orderedBytes(file))])
    }

    /// Returns JSON with the members in their order, on which phrases depend.
    private static func orderedBytes(_ object: JSONObject) -> [UInt8] {
        var bytes: [UInt8] = []
        func write(_ value: JSONValue) {
            guard case .object(let object) = value else { return JSONWriter.write(value, into: &bytes) }
            bytes += "{".utf8
            for member in object.members {
                JSONWriter.write(member.key, into: &bytes)
                bytes += ":".utf8
                write(member.value)
                bytes += ",".utf8
            }
            bytes += "}".utf8
        }
        write(.object(object))
        return bytes
    }
}
