import BellhopRules
import Store

/// The form of what programs of ours send one another: resumes, badges, pages, receipts.
///
/// What a form does not know it leaves unread, so a member that may be ignored needs no new number. A release that cannot do
/// without a new form reads it first, and only the next one writes it: in between old and new run beside one another.
package enum MessageVersion {
    /// The newest form that this program reads.
    ///
    /// It is also the one that it writes: the first, which says no number.
    package static let newest = 1

    /// The number that a message states, where it is beyond what is read here.
    static func beyond(_ object: JSONObject) -> String? {
        guard let version = object["version"], version != .null else { return nil }
        if let number = version.number?.int64, number <= newest { return nil }
        return version.number?.text ?? "?"
    }
}

/// Why a message that was meant for us could not be read.
enum UnreadMessage: Error, Equatable {
    /// Nobody of ours has written it.
    case foreign
    /// Of a form with this number, which a newer release writes.
    case newer(String)

    /// What becomes of it: a dead letter, which a replay brings to whoever can read it.
    func cause(at stage: DeadLetterCause.Stage, called name: String) -> DeadLetterCause {
        switch self {
        case .foreign:
            DeadLetterCause(stage, reason: RejectionReason.malformedJSON.rawValue, error: "not a \(name) message")
        case .newer(let version):
            DeadLetterCause(
                stage,
                reason: DeadLetterCause.newerMessage,
                error: "a \(name) message of form \(version.prefix(20)); "
                    + "this release reads up to \(MessageVersion.newest)"
            )
        }
    }
}
