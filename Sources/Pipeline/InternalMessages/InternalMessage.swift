import BellhopRules
import Store

/// The messages of the resume queues: internal work that names rows in the database.
enum InternalMessage: Sendable, Equatable {
    case resume(ResumeMessage)
    case badges(BadgeMessage)
    case page(FanoutPage)

    /// Reads a body, or returns the reason why it is not readable here.
    static func read(_ body: [UInt8]) -> Result<InternalMessage, UnreadMessage> {
        guard case .success(.object(let object)) = JSONParser(limits: .work).parse(body) else {
            return .failure(.foreign)
        }
        if let newer = MessageVersion.beyond(object) { return .failure(.newer(newer)) }
        let message =
            ResumeMessage.read(object).map(resume) ?? BadgeMessage.read(object).map(badges)
            ?? PageMessage.read(object).map(page)
        return message.map(Result.success) ?? .failure(.foreign)
    }
}
