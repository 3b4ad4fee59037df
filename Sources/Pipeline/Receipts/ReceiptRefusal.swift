import Push
import Store

/// Notices that a provider took messages which it then could not pass on, since our keys or settings are wrong.
///
/// A single one may be of another project, so that it holds nobody else up.
enum ReceiptRefusal {
    /// An answer to the question what became of a message, and whose that was.
    typealias Answer = (person: RecipientKey, verdict: Verdict)

    /// What most of the refusals among the answers to one question say, where there are so many that the fault is ours.
    static func reason(among answers: [Answer]) -> VerdictReason? {
        let refused = answers.filter { $0.verdict.refusal != nil }
        guard FaultOfOurs.isLikely(refused.map(\.person), of: answers.count) else { return nil }
        let reasons = refused.compactMap(\.verdict.refusal)
        return Dictionary(reasons.map { ($0, 1) }, uniquingKeysWith: +).max { $0.value < $1.value }?.key
    }
}

extension Verdict {
    /// Why our keys or settings are refused, for more than this message; nil where they are not.
    var refusal: VerdictReason? {
        switch self {
        case .configError(let reason, .provider), .configError(let reason, .platform): reason
        default: nil
        }
    }
}
