import Push
import Store

/// Detects that a provider accepted messages that it then could not pass on, because our credentials or settings are
/// wrong.
///
/// A single token may belong to another project, so it does not block the others.
enum ReceiptRefusal {
    /// An answer about a message, with the message's user.
    typealias Answer = (person: UserKey, verdict: Verdict)

    /// Returns the most frequent reason among the rejections of one poll, if their number indicates a configuration
    /// error.
    static func reason(among answers: [Answer]) -> VerdictReason? {
        let refused = answers.filter { $0.verdict.refusal != nil }
        guard MassFailure.isLikely(refused.map(\.person), of: answers.count) else { return nil }
        let reasons = refused.compactMap(\.verdict.refusal)
        return Dictionary(reasons.map { ($0, 1) }, uniquingKeysWith: +).max { $0.value < $1.value }?.key
    }
}

extension Verdict {
    /// The reason, if our credentials or settings are rejected for more than this message; otherwise `nil`.
    var refusal: VerdictReason? {
        switch self {
        case .configError(let reason, .provider), .configError(let reason, .platform): reason
        default: nil
        }
    }
}
