import Foundation
/// The retention period of resolved or discarded dead letters.
///
/// Dead letters that wait for an operator are never deleted.
package struct DeadLetterRetention: Sendable, Equatable {
    package let span: Duration
    /// Whether dead letters that were never exported are deleted too.
    package let includesUnexported: Bool

    /// Reads `90d`, or `90d,unexported`; `nil` for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard let span = parts.first.flatMap({ Duration(text: $0) }), span >= .seconds(86_400),
            span <= .seconds(3_650 * 86_400), parts.count == 1 || parts.dropFirst() == ["unexported"]
        else { return nil }
        self.span = span
        includesUnexported = parts.count > 1
    }
}
