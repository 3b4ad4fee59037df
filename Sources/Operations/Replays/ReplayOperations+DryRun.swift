package import BellhopJSON
import BellhopRules
import Pipeline
import Push
package import Store

/// The predicted outcomes of a replay.
package struct ReplayDryRunAnswer: Sendable {
    package let survey: ReplaySurvey
    /// The items that are left out, in lines.
    package let leftOut: [String]
    package let predictions: DryRunSummary
    /// The minimum duration, by the providers' rate limits.
    package let budgets: ReplayBudgets
    /// The backlogs behind which the replayed deliveries would wait.
    package let ahead: [WaitingBacklog]
    /// A warning if running workers have other catalogues than this shell, whose rules make the predictions.
    package let difference: String?

    package var json: JSONValue {
        .members([
            ("count", .int(survey.eligible.items)), ("tooOld", .int(survey.tooOld)),
            ("tooOften", .int(survey.tooOften)), ("bodyCut", .int(survey.cut)),
            ("predictions", predictions.json), ("items", .array(predictions.named)),
            ("itemsNotNamed", .int(predictions.unnamed)), ("budgets", budgets.json),
            (
                "ahead",
                .array(
                    ahead.map { .members([("outlet", .string($0.name)), ("waiting", .int($0.count))]) }
                )
            ),
            ("warning", .optional(difference)),
        ])
    }
}

extension ReplayOperations {
    /// Predicts the outcome of each item and changes nothing.
    ///
    /// Only one page of items is in memory at a time, and only the first items are listed.
    package func dryRun(_ input: DeadLetterInput) async throws -> ReplayDryRunAnswer {
        let preview = try await preview(try await deadLetters.filter(input), input, asOf: nil)
        let dryRun = try deadLetters.dryRun(
            input,
            orElse: "no outcome can be predicted",
            "; a replay without a dry run uses the workers' catalogues"
        )
        let providers = context.configuration.providers.flatMap { try? ProviderConfiguration.read(file: $0) }
        var (predictions, budgets, apps, last) = (DryRunSummary(), ReplayBudgets(providers), Set<String>(), "")
        while true {
            let page = try await deadLetters.store.messages(preview.order.eligible, after: last, atMost: 200)
            guard let end = page.last else { break }
            last = end.summary.deadID
            for (item, prediction) in zip(page, try await dryRun.predict(page, at: input.now)) {
                predictions.add(prediction, of: item.summary.deadID)
                if let app = item.summary.cause.app, prediction.kind.maySend { apps.insert(app) }
                if prediction.kind == .wouldSend { budgets.add(item.summary.cause) }
            }
        }
        return ReplayDryRunAnswer(
            survey: preview.survey,
            leftOut: preview.leftOut,
            predictions: predictions,
            budgets: budgets,
            ahead: try await waiting(of: apps, before: preview.order.filter),
            difference: try await catalogDifference()
        )
    }

    /// Returns a warning if a running worker has other catalogues than this process, which makes the predictions.
    private func catalogDifference() async throws -> String? {
        let own = try context.catalogs().fingerprint
        let others = try await HeartbeatStore(pool: context.pool).all().map(\.report).filter {
            $0.identity.role == "worker" && !$0.isDraining && $0.catalogs != own
        }
        guard let other = others.first else { return nil }
        let place = "\(other.identity.host)[\(other.identity.process)]"
        return "these predictions are by the catalogues given here (\(own)), and worker \(place)"
            + (others.count > 1 ? " and \((others.count - 1).of("other"))" : "") + " "
            + (others.count > 1 ? "have" : "has") + " others (\(other.catalogs)): the replay is done by the workers' "
            + "catalogues; give the workers the same files, and reload them with SIGHUP, before the replay"
    }

    /// Returns the backlogs of the outlets that a replay may use: those of the items' apps, as narrowed by its filter.
    private func waiting(of apps: Set<String>, before filter: DeadLetterFilter) async throws -> [WaitingBacklog] {
        try await WaitingBacklog.all(on: context.pool).filter { backlog in
            guard let part = OutletScope(backlog.name) else { return false }
            return apps.contains(part.app.text) && part.provider == filter.provider ?? part.provider
        }
    }
}
