/// Bellhop's reasons to revoke a subscription; any other reason is a provider's answer.
package enum RevokeReason: String, CaseIterable, Sendable {
    /// Another user has registered the token.
    case tokenMoved = "token-moved"
    /// The device has a new token with a separate subscription.
    case replaced
    /// The app has logged out or disabled notifications.
    case unsubscribed
    /// The device was inactive for too long.
    case stale
    /// The user has more than the maximum number of devices, and this device was seen least recently.
    case tooMany = "too-many"

    /// All reasons, for an SQL list.
    static var list: String { allCases.map(\.literal).joined(separator: ", ") }

    /// The reasons from updates of the source, whose times are by the source's clock, for an SQL list.
    static var saidBySource: String { [tokenMoved, replaced, unsubscribed].map(\.literal).joined(separator: ", ") }

    var literal: String { "'\(rawValue)'" }
}
