/// What is wrong at one place of a message, before it is known whose message it is.
struct FieldFault: Error {
    /// Pointers beyond this many bytes are cut back to a parent: they go into headers and log lines.
    private static let longestPointer = 255

    let reason: RejectionReason
    let pointer: JSONPointer
    let message: String

    init(_ reason: RejectionReason, at pointer: JSONPointer, _ message: String) {
        self.reason = reason
        self.pointer = Self.presentable(pointer)
        self.message = message
    }

    /// An invalid field: what was expected there, what is there instead.
    init(at pointer: JSONPointer, expected: String, found: JSONValue) {
        self.init(.invalidField, at: pointer, "expected \(expected), found \(found.describedKind)")
    }

    /// The pointer itself, or its nearest ancestor that is short and without control characters: keys are content.
    private static func presentable(_ pointer: JSONPointer) -> JSONPointer {
        guard !IdentifierRules.isPlain(pointer.text, longest: longestPointer) else { return pointer }
        var presentable = JSONPointer.root
        for step in pointer.steps {
            let next = presentable.key(step)
            guard IdentifierRules.isPlain(next.text, longest: longestPointer) else { break }
            presentable = next
        }
        return presentable
    }
}

/// Why a message is dead-lettered at once; the raw values are what producers and operators see.
public enum RejectionReason: String, CaseIterable, Hashable, Sendable {
    /// The body is not JSON, or not of the form that its content type promises.
    case malformedJSON = "malformed-json"
    /// The body is larger than 256 KiB.
    case tooLarge = "too-large"
    /// Neither the body nor the envelope names the event.
    case missingID = "missing-id"
    /// Nobody is named to hear of it.
    case missingAudience = "missing-audience"
    /// No catalogue knows the app, or none is named.
    case unknownApp = "unknown-app"
    /// The app's catalogue does not know the type, or none is named.
    case unknownType = "unknown-type"
    /// A field has a value that it must not have, or two places contradict one another.
    case invalidField = "invalid-field"
    /// The id was used before, with other content.
    ///
    /// Never found by parsing: it takes the database to see it.
    case idConflict = "id-conflict"
}
