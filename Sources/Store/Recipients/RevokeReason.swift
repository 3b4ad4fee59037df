/// Why we end a subscription ourselves; any other reason is a provider's word.
package enum RevokeReason: String, CaseIterable, Sendable {
    /// Another user has registered the token.
    case tokenMoved = "token-moved"
    /// The device has another token, which has a subscription of its own.
    case replaced
    /// The app has logged out or been told to be silent.
    case unsubscribed
    /// Nothing has been heard of the device for too long.
    case stale
    /// The user has more devices than anybody uses: the one that was seen least lately gives way.
    case tooMany = "too-many"

    /// For an SQL list.
    static var list: String { allCases.map(\.literal).joined(separator: ", ") }

    /// Those that come of words of the source, and so carry the time of its clock; for an SQL list.
    static var saidBySource: String { [tokenMoved, replaced, unsubscribed].map(\.literal).joined(separator: ", ") }

    var literal: String { "'\(rawValue)'" }
}
