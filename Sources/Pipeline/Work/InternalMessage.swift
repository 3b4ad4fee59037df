import BellhopRules
import Store

/// What the resume queues bring: work of our own, which names what is in the database.
enum InternalMessage: Sendable, Equatable {
    case resume(ResumeMessage)
    case badges(BadgeMessage)
    case page(FanoutPage)

    /// Reads a body; nil where it is not one of ours.
    static func read(_ body: [UInt8]) -> InternalMessage? {
        guard case .success(.object(let object)) = JSONParser(limits: .event).parse(body) else { return nil }
        return ResumeMessage.read(object).map(resume) ?? BadgeMessage.read(object).map(badges)
            ?? PageMessage.read(object).map(page)
    }
}
