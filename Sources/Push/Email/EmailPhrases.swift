import BellhopRules

/// Bellhop's own text in a mail, in the user's language: Norwegian, Swedish, or English for all other languages.
struct EmailPhrases {
    /// The language of these texts.
    let language: String
    let open: String
    /// The reason for the mail; `%@` is the app's name.
    private let reasonTemplate: String
    let unsubscribe: String

    init(for tag: LanguageTag) {
        switch tag.text.prefix(while: { $0 != "-" }) {
        case "nb", "no", "nn": self = .norwegian
        case "sv": self = .swedish
        default: self = .english
        }
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

    private static let swedish = EmailPhrases(
        language: "sv",
        open: "Öppna",
        reason: "Du får det här mejlet eftersom notiser via e-post från %@ är påslagna.",
        unsubscribe: "Avsluta notiser via e-post"
    )

    private static let english = EmailPhrases(
        language: "en",
        open: "Open",
        reason: "You are receiving this email because email notifications from %@ are turned on.",
        unsubscribe: "Unsubscribe from email notifications"
    )
}
