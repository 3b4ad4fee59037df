/// A fault at one place of a message, before the message's names are known.
struct FieldFault: Error {
    /// The maximum length of a pointer in bytes.
    ///
    /// Longer pointers are cut back to a parent, because they are written to headers and log lines.
    private static let longestPointer = 255

    let reason: RejectionReason
    let pointer: JSONPointer
    let message: String

    init(_ reason: RejectionReason, at pointer: JSONPointer, _ message: String) {
        self.reason = reason
        self.pointer = Self.presentable(pointer)
        self.message = message
    }

    /// Creates the fault of an invalid field from the expected and the actual value.
    init(at pointer: JSONPointer, expected: String, found: JSONValue) {
        self.init(.invalidField, at: pointer, "expected \(expected), found \(found.describedKind)")
    }

    /// Returns the pointer itself, or its nearest ancestor that is short and free of control characters, because keys
    /// are content.
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

/// The reason why a message immediately becomes a dead letter; producers and operators see the raw values.
public enum RejectionReason: String, CaseIterable, Hashable, Sendable {
    /// The body is not JSON, or not of the form that its content type announces.
    case malformedJSON = "malformed-json"
    /// The body is larger than 256 KiB.
    case tooLarge = "too-large"
    /// Neither the body nor the envelope names the event.
    case missingID = "missing-id"
    /// The message names no audience.
    case missingAudience = "missing-audience"
    /// No catalogue describes the app, or no app is named.
    case unknownApp = "unknown-app"
    /// The app's catalogue does not have the type, or no type is named.
    case unknownType = "unknown-type"
    /// A field has an invalid value, or two places contradict one another.
    case invalidField = "invalid-field"
    /// The id was used before with other content.
    ///
    /// Parsing never finds this, because it needs the database.
    case idConflict = "id-conflict"
}
