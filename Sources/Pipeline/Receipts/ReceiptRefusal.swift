import Push

/// Notices that a provider took messages which it then could not pass on, since our keys or settings are wrong.
///
/// A single one may be of another project, so that it holds nobody else up.
enum ReceiptRefusal {
    /// Fewer say nothing about the rest, whatever their share.
    static let fewest = 5

    /// What most of the refusals among the answers to one question say: where there are five at least, and more than
    /// every second answer is one.
    static func reason(among verdicts: [Verdict]) -> VerdictReason? {
        let reasons = verdicts.compactMap(\.refusal)
        guard reasons.count >= fewest, reasons.count * 2 > verdicts.count else { return nil }
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
