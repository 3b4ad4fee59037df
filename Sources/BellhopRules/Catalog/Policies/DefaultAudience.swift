/// The audience of an event without `to`, as the catalogue defines it.
public enum DefaultAudience: Hashable, Sendable {
    /// Every user of the app.
    case everyone
    /// The followers of a topic.
    case topic(TopicTemplate)

    /// Returns the audience of an event with these fields.
    func audience(from fields: JSONFieldReader) throws(FieldFault) -> Audience {
        switch self {
        case .everyone: .everyone
        case .topic(let template): .topic(try template.filled(from: fields))
        }
    }
}

/// The name of a topic, with placeholders for an event's values, such as `venue:{venueId}`.
///
/// The values become parts of the name unchanged. The result must satisfy the rule for topics.
public struct TopicTemplate: Hashable, Sendable {
    /// The name as the catalogue writes it.
    public let text: String
    private let segments: [Template.Segment]
    /// The whole name if it has no placeholder.
    private let fixed: Topic?

    /// Creates a template whose placeholders may use the given names.
    ///
    /// A placeholder contains an unchanged value, as in a link.
    init(_ text: String, _ gaps: PlaceholderNames) throws(TemplateFault) {
        segments = try TemplateParser.template(text, gaps, nil).segments
        if case .words(let words)? = segments.first, segments.count == 1 {
            fixed = Topic(validating: words)
        } else {
            fixed = nil
        }
        self.text = text
    }

    /// Fills the placeholders.
    ///
    /// An event without a value has no audience. A value that cannot be part of a topic's name is an invalid field.
    func filled(from fields: JSONFieldReader) throws(FieldFault) -> Topic {
        if let fixed { return fixed }
        let values = TemplateValues(
            data: try fields.object(EventField.data.rawValue) ?? JSONObject(),
            targetID: try fields.line(EventField.targetId.rawValue, longest: FieldLimits.reference),
            venueID: try fields.line(EventField.venueId.rawValue, longest: FieldLimits.reference)
        )
        var name = ""
        var place = fields.place(EventField.to.rawValue)
        for (index, segment) in segments.enumerated() {
            switch segment {
            case .words(let words): name += words
            case .gap(let source):
                place = source.pointer(fields.place)
                name += try word(values.value(of: source), at: place, isLast: index == segments.count - 1)
            case .number, .units, .short, .plural, .select, .count: continue
            }
        }
        guard let topic = Topic(validating: name) else {
            throw FieldFault(.invalidField, at: place, "the topic \(text) with this value is not \(Topic.rule)")
        }
        return topic
    }

    /// Returns a value as a part of the name.
    ///
    /// Only the last part may contain colons. Otherwise two different groups of values could have the same name.
    private func word(_ value: JSONValue?, at place: JSONPointer, isLast: Bool) throws(FieldFault) -> String {
        let word: String
        switch value {
        case nil, .null?, .string("")?:
            let need = "an event without \"to\" needs this value, because its audience is the topic \(text)"
            throw FieldFault(.missingAudience, at: place, need)
        case .string(let text)?: word = text
        case .number(let number)? where number.text.utf8.allSatisfy(IdentifierRules.isDigit): word = number.text
        case let value?: throw FieldFault(at: place, expected: "a string or a whole number", found: value)
        }
        guard IdentifierRules.isPlain(word, longest: 255), isLast || !word.utf8.contains(UInt8(ascii: ":")) else {
            let rule = Topic.rule + (isLast ? "" : " or colons")
            throw FieldFault(.invalidField, at: place, "expected a part of the topic \(text): \(rule)")
        }
        return word
    }
}
