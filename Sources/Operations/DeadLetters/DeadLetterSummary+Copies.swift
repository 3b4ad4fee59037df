package import Store

/// Distinguishes a corrected copy, which is a separate item, from a further failure of its original.
extension DeadLetterSummary {
    /// Whether this is a corrected copy that has not failed since its submission.
    ///
    /// Its reason is that of its original.
    package var isUnfailedCopy: Bool { cause.stage == .desk }

    /// The number of failures.
    ///
    /// The table counts the submission of a corrected copy as its first death.
    package var failures: Int { isUnfailedCopy || editedFrom != nil ? max(0, deaths - 1) : deaths }

    /// The relation to the original, such as `the corrected copy of b-letter`; `nil` for any other item.
    package var copyWords: String? {
        isUnfailedCopy ? cause.error : editedFrom.map { "the corrected copy of \($0)" }
    }

    /// The state, and for a corrected item the id of its copy.
    package var stateWords: String {
        guard let resolution, resolution.hasPrefix(Self.correction) else { return state.rawValue }
        return "\(state.rawValue) by its corrected copy \(resolution.dropFirst(Self.correction.count))"
    }

    /// The beginning of the resolution of an item that was corrected; the copy's id follows.
    private static let correction = "edited: "
}
