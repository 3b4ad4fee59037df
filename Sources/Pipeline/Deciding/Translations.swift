import BellhopRules
import Store

/// Renders texts in each user's language; the text of one message in one language is rendered once.
struct Translations {
    /// The source of ``made``.
    ///
    /// It is compared by identity, because the same id could belong to another app's event or to another event of the
    /// same app.
    private var source: NotificationText?
    private var made: [LanguageTag: NotificationText] = [:]

    /// Returns the text in the user's language.
    ///
    /// It returns the original text if the user has no language, the app does not have it, or a value for its template
    /// is missing.
    mutating func words(_ words: NotificationText, for reader: Recipient) -> NotificationText {
        let catalog = words.catalog
        guard let locale = reader.locale, locale != catalog.language,
            let language = catalog.language(of: words.content.type, for: locale), language != catalog.language
        else { return words }
        if source !== words {
            source = words
            made = [:]
        }
        if let known = made[language] { return known }
        guard case .success(let rendered) = catalog.render(words.event, language: language) else { return words }
        let translated = words.translated(rendered)
        made[language] = translated
        return translated
    }
}
