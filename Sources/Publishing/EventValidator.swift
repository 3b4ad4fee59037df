package import BellhopRules

/// Judges messages before they are published, as a worker judges them, without the checks that need the database.
package struct EventValidator: Sendable {
    private let catalogs: CatalogSet
    private let parser: SubmissionParser

    /// `parser` is the workers' parser for these catalogues.
    package init(_ catalogs: CatalogSet, parser: SubmissionParser) {
        self.catalogs = catalogs
        self.parser = parser
    }

    /// Returns the parsed message, or the reason why a worker would reject it if it arrived now.
    package func judge(_ envelope: InboundEnvelope, at now: Timestamp) -> Result<Submission, Rejection> {
        parser.parse(envelope).flatMap { submission in
            guard case .event(let event) = submission, let catalog = catalogs[event.app] else {
                return .success(submission)
            }
            if let rejection = event.refusal(at: now) { return .failure(rejection) }
            return catalog.render(event, language: nil).map { _ in submission }
        }
    }
}
