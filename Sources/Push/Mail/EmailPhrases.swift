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
        reason: "Du får denne e-posten fordi du har slått på varsler på e-post fra %@.",
        unsubscribe: "Slutt å få varsler på e-post"
    )

    private static let english = EmailPhrases(
        language: "en",
        open: "Open",
        reason: "You get this e-mail because notifications by e-mail from %@ are turned on.",
        unsubscribe: "Stop notifications by e-mail"
    )
}
