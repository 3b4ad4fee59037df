import BellhopRules

/// The sanitised content of a mail, in the order of its parts.
struct EmailContent {
    let appName: String
    let title: String
    /// The lines of each paragraph; a paragraph has at least one.
    let paragraphs: [[String]]
    let link: String?
    let unsubscribeLink: String
    let language: String
    let phrases: EmailPhrases

    init(_ message: EmailMessage, _ letterhead: EmailBranding) {
        appName = letterhead.appName(message.app)
        let title = MailText.line(message.title)
        self.title = title.isEmpty ? appName : title
        paragraphs = MailText.lines(message.body).split { $0.trimmed.isEmpty }.map(Array.init)
        link = message.webPath.map(letterhead.link)
        unsubscribeLink = letterhead.unsubscribe.url(
            for: .init(app: message.app, user: message.user, mailedTo: message.address)
        )
        language = message.language.text
        phrases = EmailPhrases(for: message.language)
    }

    /// Whether the language is written from right to left.
    var isRightToLeft: Bool {
        ["ar", "dv", "fa", "he", "ku", "ps", "ur", "yi"].contains(language.prefix { $0 != "-" })
    }

    /// The lines of the plain part, for mail programs that do not show the other one.
    var plainLines: [String] {
        var lines = [title, ""]
        for paragraph in paragraphs { lines += paragraph + [""] }
        if let link { lines += ["\(phrases.open):", link, ""] }
        // This line separates the signature, which mail programs show in a smaller font or hide.
        return lines + ["-- ", phrases.reason(appName: appName), "\(phrases.unsubscribe):", unsubscribeLink]
    }
}
