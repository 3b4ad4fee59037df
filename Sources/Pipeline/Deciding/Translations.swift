import BellhopRules
import Store

/// Gives each reader the words of their language; those of one message and one language are made once.
struct Translations {
    private let catalogs: CatalogSet
    /// What ``made`` was made of; by its id it could be another app's event, or another of the same app.
    private var source: InboxWords?
    private var made: [LanguageTag: InboxWords] = [:]

    init(_ catalogs: CatalogSet) {
        self.catalogs = catalogs
    }

    /// The words as they are where the reader has no language of their own, or the app does not speak it, or a value
    /// that its template needs is missing.
    mutating func words(_ words: InboxWords, for reader: Recipient) -> InboxWords {
        guard let locale = reader.locale, let catalog = catalogs[words.app], locale != catalog.language,
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
