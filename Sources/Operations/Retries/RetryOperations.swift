package import BellhopJSON
package import BellhopRules
import Pipeline
import ServiceRuntime
package import Store

/// The operators' view of deliveries in retry tiers, and the act that brings them forward.
package struct RetryOperations: Sendable {
    private let store: RetryAdmin
    private let processes: HeartbeatStore
    private let context: OperationsContext

    package init(_ context: OperationsContext) {
        self.context = context
        processes = HeartbeatStore(pool: context.pool)
        store = RetryAdmin(pool: context.pool)
    }

    /// Returns the waiting retries of one app or of all.
    package func list(app: String? = nil) async throws -> RetryList {
        let isListed = { (retries: WaitingRetries) in app == nil || retries.app == app }
        return RetryList(
            waiting: try await store.waiting().filter(isListed),
            limited: try await store.limited().filter(isListed),
            others: try await store.others().filter(isListed)
        )
    }

    /// Counts the retries that would be brought forward.
    ///
    /// It is refused if the provider fails now: each delivery would lose an attempt.
    package func preview(_ fields: OperationFields) async throws -> RetryPreview {
        let app: AppID = try fields.required("app")
        let provider = try fields.provider()
        let retries = try await list(app: app.text)
        let preview = RetryPreview(
            app: app,
            provider: provider,
            waiting: retries.waiting.first { $0.provider == provider },
            limited: retries.limited.first { $0.provider == provider },
            others: retries.others.first { $0.provider == provider },
            blocked: try await BlockedDeliveries.behind(app, provider, in: context)
        )
        if preview.waiting != nil { try await expectNoOutage(of: app, provider) }
        return preview
    }

    private func expectNoOutage(of app: AppID, _ provider: String) async throws {
        let outages = ProviderOutage.combined(of: try await processes.all(), at: SystemTime().timestamp)
        guard let outage = outages.first(where: { $0.app == app.text && $0.provider == provider }) else { return }
        throw OperationError(
            .notPossible,
            attempted: "bring-forward --app \(app) --provider \(provider)",
            "the provider accepts nothing at present (\(outage.word)), and each retry would lose an attempt",
            advice: "wait until bellhop status no longer reports it; a scheduler then brings the retries forward"
        )
    }

    /// Brings the retries of an outlet forward, unless its provider has begun to fail since the preview.
    package func bringForward(
        _ preview: RetryPreview,
        by operator: ActingOperator
    ) async throws -> RetriesBroughtForward {
        try await expectNoOutage(of: preview.app, preview.provider)
        let moved = try await store.bringForward(
            preview.app,
            preview.provider,
            agreed: preview.question.count,
            by: `operator`,
            pausing: RetryPace.pause
        )
        return RetriesBroughtForward(preview, deliveries: moved)
    }
}

/// The retries that an act would bring forward.
package struct RetryPreview: Sendable {
    package let app: AppID
    package let provider: String
    /// `nil` if no delivery waits.
    package let waiting: WaitingRetries?
    /// The deliveries that stay, because the provider limits the rate; `nil` if there is none.
    package let limited: WaitingRetries?
    /// The deliveries that stay, because they wait after another response; `nil` if there is none.
    package let others: WaitingRetries?
    /// The deliveries behind an open breaker, which the act does not affect; `nil` if none is open.
    package let blocked: BlockedDeliveries?

    /// The question before the act.
    package var question: ActQuestion {
        let count = waiting?.count ?? 0
        let atLeast = waiting?.isCapped == true ? "at least " : ""
        let retries = atLeast + count.of("retry", "retries")
        let object = "\(retries) of \(app) through \(provider) now, 200 users per second"
        return ActQuestion(count: count, .sends, object, lines: unaffected)
    }

    /// Whether the count need not be confirmed.
    package var isSmall: Bool { question.count < ActQuestion.many }

    /// Whether an operator's confirmation covers the present number, which changes as retries fall due.
    func isCovered(by agreement: Agreement?) -> Bool {
        isSmall || agreement.map { question.count <= 2 * $0.count } ?? false
    }

    package var nothing: String {
        let none = "No delivery of \(app) through \(provider) waits for another attempt after an outage."
        return ([none] + unaffected).joined(separator: " ")
    }

    /// The deliveries that the act does not affect.
    private var unaffected: [String] {
        [limited?.limitWords, others?.otherWords, blocked?.retryWords].compactMap { $0 }
    }
}

/// The result of the act.
package struct RetriesBroughtForward: Sendable {
    let app: String
    let provider: String
    package let deliveries: Int
    /// The deliveries that stayed, in words; `nil` if there is none.
    package let limitWords: String?

    init(_ preview: RetryPreview, deliveries: Int) {
        app = preview.app.text
        provider = preview.provider
        self.deliveries = deliveries
        limitWords = preview.limited?.limitWords
    }

    package var json: JSONValue {
        .members([("app", .string(app)), ("provider", .string(provider)), ("deliveries", .int(deliveries))])
    }
}

/// The deliveries that wait for another attempt, by app and provider.
package struct RetryList: Sendable {
    /// They wait because of an outage.
    package let waiting: [WaitingRetries]
    /// They wait as long as their provider has requested.
    package let limited: [WaitingRetries]
    /// They wait after another response, such as one about a device, or wrong credentials for a part of a batch.
    package let others: [WaitingRetries]

    package var isEmpty: Bool { waiting.isEmpty && limited.isEmpty && others.isEmpty }

    package var json: JSONValue {
        .members([
            ("retries", .array(waiting.map(\.json))), ("limited", .array(limited.map(\.json))),
            ("others", .array(others.map(\.json))),
        ])
    }
}

extension WaitingRetries {
    /// The reason why deliveries that the provider limits are not brought forward, with their number.
    package var limitWords: String {
        let many = (isCapped ? "At least " : "") + count.of("other waits", "others wait")
        return "\(many) as long as the provider has requested (rate limit, full mailbox), the last until "
            + "\(HumanText.instant(lastDue)): not brought forward."
    }

    /// The reason why deliveries that wait after another response are not brought forward, with their number.
    var otherWords: String {
        let many = (isCapped ? "At least " : "") + count.of("other waits", "others wait")
        return
            "\(many) after another response, such as one to a single message, the last until "
            + "\(HumanText.instant(lastDue)): not brought forward."
    }

    package var json: JSONValue {
        .members([
            ("app", .string(app)), ("provider", .string(provider)), ("waiting", .int(count)),
            ("waitingIsCapped", .bool(isCapped)), ("lastDueAt", .string(lastDue.description)),
        ])
    }
}
