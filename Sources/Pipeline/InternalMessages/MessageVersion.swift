import BellhopRules
import Store

/// The format version of messages between Bellhop's programs: resumes, badges, pages, receipts.
///
/// A reader ignores unknown members, so an optional member needs no new version. A release that requires a new format
/// first reads it, and only the next release writes it, because old and new releases run alongside one another in
/// between.
package enum MessageVersion {
    /// The newest version that this program reads.
    ///
    /// It also writes this version: the first one, which carries no number.
    package static let newest = 1

    /// Returns the version that a message states, if it is newer than the readable ones.
    static func beyond(_ object: JSONObject) -> String? {
        guard let version = object["version"], version != .null else { return nil }
        if let number = version.number?.int64, number <= newest { return nil }
        return version.number?.text ?? "?"
    }
}

/// The reason why an internal message could not be read.
enum UnreadMessage: Error, Equatable {
    /// Bellhop did not write it.
    case foreign
    /// It has this newer version, which a newer release writes.
    case newer(String)

    /// Returns the cause of its dead letter.
    ///
    /// A replay sends it to a program that can read it.
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
