package import BellhopRules
package import Cryptography

/// A program that may publish events by HTTP: a name for the log, one app, its types, and the hash of a token.
package struct PublisherAccount: Hashable, Sendable {
    package let name: String
    package let app: AppID
    /// The names of the event types and feed messages that it may publish.
    ///
    /// `nil` permits every event type of the app and cancellations, but no feed messages: these change users' data.
    package let types: [EventType]?
    /// The hash of the token, as ``BearerToken`` makes it.
    package let tokenHash: [UInt8]

    /// Creates an account and a token.
    package static func registered(
        as name: String,
        app: AppID,
        types: [EventType]?
    ) throws(CryptographyError) -> (account: PublisherAccount, token: String) {
        let (token, hash) = try BearerToken.make(prefix: "bhpub_")
        return (PublisherAccount(name: name, app: app, types: types, tokenHash: hash), token)
    }

    /// Whether it may publish messages with this name in its app.
    func mayPublish(_ type: EventType) -> Bool {
        types.map { $0.contains(type) } ?? (FeedType(rawValue: type.text) == nil)
    }

    /// Whether a name fits on one line of a log.
    package static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    }

    package static let nameRule = "a name of 1 to 64 bytes without blanks"
}
