package import BellhopJSON
import BellhopRules
package import Push
import ServiceRuntime
package import Store

/// Estimates the minimum duration of a replay's pushes, from the providers' rate limits for all workers together.
///
/// The estimate requires the providers' file and covers only deliveries, since the provider of any other message is
/// known only after it is recorded.
package struct ReplayBudgets: Sendable {
    private let providers: ProviderConfiguration?
    private var pushes: [String: (budget: PushBudget, count: Int)] = [:]

    /// Creates an estimate.
    ///
    /// `providers` is `nil` if the providers' file is not available.
    package init(_ providers: ProviderConfiguration?) {
        self.providers = providers
    }

    /// Counts an item that would be sent.
    package mutating func add(_ cause: DeadLetterCause) {
        guard let app = cause.app.flatMap(AppID.init(validating:)), let provider = cause.provider,
            let budget = providers?.apps[app]?.budget(of: provider)
        else { return }
        pushes[budget.name, default: (budget, 0)].count += 1
    }

    private var sorted: [(budget: PushBudget, count: Int)] {
        pushes.values.sorted { $0.budget.name < $1.budget.name }
    }

    /// Returns the time for the pushes beyond the burst, in whole seconds.
    private static func seconds(_ count: Int, _ budget: PushBudget) -> Int {
        let rest = Double(max(0, count - budget.pushes)) / budget.perSecond
        return Int(min(rest.rounded(.up), 1e9))
    }

    package var lines: [String] {
        sorted.compactMap { budget, count in
            let seconds = Self.seconds(count, budget)
            guard seconds > 0 else { return nil }
            let rate = "\(budget.pushes.grouped) in \(budget.period.shortText)"
            return "\(budget.name) takes \(rate): its \(count.of("push", "pushes")) take "
                + "\(Duration.seconds(seconds).roughly) at least."
        }
    }

    package var json: JSONValue {
        .array(
            sorted.map { budget, count in
                .members([
                    ("account", .string(budget.name)), ("pushes", .int(count)),
                    ("leastSeconds", .int(Self.seconds(count, budget))),
                ])
            }
        )
    }
}

extension ProviderConfiguration.Providers {
    /// Returns the rate limit of a provider, if it has one.
    fileprivate func budget(of provider: String) -> PushBudget? {
        switch PushProvider(rawValue: provider) {
        case .fcm: fcm?.budget
        case .expo: expo?.budget
        case .apns, .webpush, nil: nil
        }
    }
}
