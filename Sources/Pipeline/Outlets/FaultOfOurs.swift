import Store

/// Tells a fault of ours from one of a few people's devices, where a provider says the same of both.
///
/// People are counted and not devices, since everybody may register what they like: whoever registers many that cannot
/// be reached loses those, and holds nobody up.
enum FaultOfOurs {
    /// Fewer say nothing about the others, whatever their share.
    static let fewestPeople = 5

    /// Whether most of the answers blame, and five people at least were blamed.
    ///
    /// `blamed` names somebody once for each answer.
    static func isLikely(_ blamed: [RecipientKey], of answers: Int) -> Bool {
        blamed.count * 2 > answers && Set(blamed).count >= fewestPeople
    }
}
