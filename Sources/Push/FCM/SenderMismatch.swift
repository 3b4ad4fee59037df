/// Tells one device of a foreign sender from a whole app that signs in as the wrong one.
///
/// A provider gives the same answer in both cases. Where it is most of a batch, and five at least, it is our own
/// settings, and nobody loses a token for them.
enum SenderMismatch {
    private static let fewest = 5

    /// The verdicts with every mismatch as a config error where they are too many to be the devices' fault.
    static func judged(
        _ verdicts: [Verdict],
        _ mismatch: VerdictReason = .senderIDMismatch,
        scope: VerdictScope = .provider
    ) -> [Verdict] {
        let isMismatch = { (verdict: Verdict) in verdict.kind == .deviceGone && verdict.reason == mismatch }
        let count = verdicts.count(where: isMismatch)
        guard count >= fewest, count * 2 > verdicts.count else { return verdicts }
        return verdicts.map { isMismatch($0) ? .configError(mismatch, scope: scope) : $0 }
    }
}
