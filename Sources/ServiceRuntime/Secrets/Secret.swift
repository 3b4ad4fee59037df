/// A text that must not be displayed: printing, dumping or interpolating it shows `<redacted>`.
package struct Secret: Sendable, Hashable {
    /// The text itself.
    ///
    /// Pass it only to the library that needs it.
    package let revealed: String

    package init(_ text: String) {
        revealed = text
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
