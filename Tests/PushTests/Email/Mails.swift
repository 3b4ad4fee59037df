import BellhopRules
import Push
import Testing

/// Messages and letterheads for tests of mails.
enum Mails {
    static let keyText = String(repeating: "k", count: 32)

    static func letterhead(
        from: String = "Drøp <no-reply@drop.example>",
        unsubscribe: String = "https://drop.example/u"
    ) throws -> EmailBranding {
        EmailBranding(
            from: try #require(Mailbox(from)),
            linkBase: "https://drop.example",
            unsubscribe: try link(unsubscribe)
        )
    }

    static func link(_ base: String = "https://drop.example/u", keys: String = keyText) throws -> UnsubscribeLink {
        UnsubscribeLink(base: base, keys: try #require(UnsubscribeKeys(file: Array(keys.utf8))))
    }

    static func message(
        _ title: String = "Ny innlogging på kontoen din",
        _ body: String = "Noen logget inn fra Oslo.\n\nVar det ikke deg? Bytt passord.",
        to address: String = "kari@example.com",
        language: String = "nb",
        notification: UInt64 = 0xAB
    ) throws -> EmailMessage {
        var message = EmailMessage(
            app: try #require(AppID(validating: "drop")),
            user: try #require(UserID(validating: "u1")),
            notification: NotificationID(bits: notification),
            type: try #require(EventType(validating: "security")),
            address: try #require(EmailAddress(validating: address)),
            words: (try #require(LanguageTag(validating: language)), title, body)
        )
        message.webPath = "/security?id=7"
        return message
    }
}
