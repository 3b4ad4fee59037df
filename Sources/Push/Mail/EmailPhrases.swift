import BellhopRules

/// The words of a mail that are ours, in the reader's language: Norwegian, or English for everybody else.
struct EmailPhrases {
    /// The language that these words are in.
    let language: String
    let open: String
    /// Why the mail came; `%@` is the app's name.
    private let reasonTemplate: String
    let unsubscribe: String

    init(for tag: LanguageTag) {
        let primary = tag.text.prefix { $0 != "-" }
        self = ["nb", "no", "nn"].contains(primary) ? .norwegian : .english
    }

    func reason(appName: String) -> String {
        reasonTemplate.replacing("%@", with: appName, maxReplacements: 1)
    }

    private init(language: String, open: String, reason: String, unsubscribe: String) {
        self.language = language
        self.open = open
        reasonTemplate = reason
        self.unsubscribe = unsubscribe
    }

    private static let norwegian = EmailPhrases(
        language: "nb",
        open: "Åpne",
        reason: "Du får denne e-posten fordi varsler på e-post fra %@ er slått på.",
        unsubscribe: "Meld deg av varsler på e-post"
    )

    private static let english = EmailPhrases(
        language: "en",
        open: "Open",
        reason: "You are receiving this email because email notifications from %@ are turned on.",
        unsubscribe: "Unsubscribe from email notifications"
    )
}
