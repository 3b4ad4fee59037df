import BellhopRules
import Operations
import Pipeline
import Settings

/// The rules' decision about an event and a user at an instant.
///
/// It is the worker's decision, made without servers.
struct ExplainedDecision {
    let catalog: Catalog
    let event: Event
    let type: CatalogType
    let document: RecipientDocument
    /// The requested instant.
    ///
    /// An event with a later delivery time is decided at that time.
    let asked: Timestamp
    let facts: DecisionFacts
    let decision: Decision
    let steps: [RuleStep]
    /// Whether the preferences in the file were complete and canonical.
    let hadCanonicalPreferences: Bool

    init?(_ catalog: Catalog, _ event: Event, _ document: RecipientDocument, at asked: Timestamp, _ zones: ZoneLibrary)
    {
        guard let type = catalog[event.type] else { return nil }
        let (recipient, isCanonical) = document.recipient(of: catalog)
        let decided = max(asked, event.deliverAt ?? asked)
        var facts = DecisionFacts(catalog: catalog, type: type, recipient: recipient, now: decided) { zones[$0] }
        facts.expiresAt = type.expiry(of: event, arrival: asked)
        facts.isNeverMailed = event.content.isNeverMailed
        facts.history.isRead = document.isRead
        if case .topic = event.audience { facts.follow = document.follow ?? DecisionFacts.Follow() }
        self.catalog = catalog
        self.event = event
        self.type = type
        self.document = document
        self.asked = asked
        self.facts = facts
        hadCanonicalPreferences = isCanonical
        (decision, steps) = Decision.explained(facts)
    }

    var clock: UserClock { UserClock(zone: facts.clock()) }

    /// Returns the outcome for a device, whether it was decided for this device or for all devices together.
    func outcome(of device: Device) -> Outcome? {
        decision.push ?? decision.devices.first { $0.device.subscription == device.subscription }?.outcome
    }

    /// Returns the texts as the user would see them, and their language.
    ///
    /// The language is `nil` if the producer supplied all texts. As in the pipeline, the app's language replaces the
    /// user's if a value that the text needs is missing.
    func words() -> Result<(words: RenderedContent, language: LanguageTag?), Rejection> {
        catalog.render(event, language: nil).map { plain in
            let isExplicit = event.content.title != nil && event.content.body != nil
            guard !isExplicit, let language = catalog.language(of: event.type, for: reader) else { return (plain, nil) }
            guard let words = try? catalog.render(event, language: language).get() else {
                return (plain, catalog.language)
            }
            return (words, language)
        }
    }

    private var reader: LanguageTag { facts.recipient.locale ?? catalog.language }
}
