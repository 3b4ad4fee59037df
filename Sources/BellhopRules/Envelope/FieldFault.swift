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
