import BellhopRules
import Push
import ServiceRuntime
import Store

/// How long a replay's pushes take at least, by what their providers take from all workers together.
///
/// Known as far as the providers' file is at hand, and of deliveries: through whom a message would be pushed only its
/// recording tells.
struct ReplayBudgets {
    private let providers: ProviderConfiguration?
    private var pushes: [String: (budget: PushBudget, count: Int)] = [:]

    /// Nil where the providers' file is not at hand.
    init(_ providers: ProviderConfiguration?) {
        self.providers = providers
    }

    /// Counts an item that would go out.
    mutating func add(_ cause: DeadLetterCause) {
        guard let app = cause.app.flatMap(AppID.init(validating:)), let provider = cause.provider,
            let budget = providers?.apps[app]?.budget(of: provider)
        else { return }
        pushes[budget.name, default: (budget, 0)].count += 1
    }

    private var sorted: [(budget: PushBudget, count: Int)] {
        pushes.values.sorted { $0.budget.name < $1.budget.name }
    }

    /// Beyond what may go at once, in whole seconds.
    private static func seconds(_ count: Int, _ budget: PushBudget) -> Int {
        let rest = Double(max(0, count - budget.pushes)) / budget.perSecond
        return Int(min(rest.rounded(.up), 1e9))
    }

    var lines: [String] {
        sorted.compactMap { budget, count in
            let seconds = Self.seconds(count, budget)
            guard seconds > 0 else { return nil }
            let rate = "\(budget.pushes.grouped) in \(budget.period.shortText)"
            return "\(budget.name) takes \(rate): its \(count.of("push", "pushes")) take "
                + "\(Duration.seconds(seconds).roughly) at least."
        }
    }

    var json: JSONText {
        .list(
            sorted.map { budget, count in
                .object([
                    ("account", .text(budget.name)), ("pushes", .number(count)),
                    ("leastSeconds", .number(Self.seconds(count, budget))),
                ])
            }
        )
    }
}

extension ProviderConfiguration.Providers {
    /// What a provider takes, where it says so.
    fileprivate func budget(of provider: String) -> PushBudget? {
        switch PushProvider(rawValue: provider) {
        case .fcm: fcm?.budget
        case .expo: expo?.budget
        case .apns, .webpush, nil: nil
        }
    }
}
