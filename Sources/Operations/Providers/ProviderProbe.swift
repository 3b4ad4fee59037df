package import BellhopJSON
import BellhopRules
import ServiceRuntime
package import Store

/// The operators' act on open breakers: the next probe is due now.
package struct ProviderProbe: Sendable {
    private let app: AppID
    private let provider: String
    /// The deliveries behind the breakers, before the act.
    package let blocked: BlockedDeliveries

    /// Prepares the act before an operator is asked for a reason.
    ///
    /// Without an open breaker there is nothing to probe, and the act is refused.
    package init(_ fields: OperationFields, in context: OperationsContext) async throws {
        app = try fields.required("app")
        provider = try fields.provider()
        guard let blocked = try await BlockedDeliveries.behind(app, provider, in: context) else {
            throw Self.noBreaker(app, provider)
        }
        self.blocked = blocked
    }

    /// Brings the next probe forward, unless the last breaker has closed since.
    package func perform(by operator: ActingOperator, in context: OperationsContext) async throws {
        let store = BreakerAdmin(pool: context.pool)
        guard try await store.bringProbesForward(app, provider, by: `operator`) > 0 else {
            throw Self.noBreaker(app, provider)
        }
    }

    private static func noBreaker(_ app: AppID, _ provider: String) -> OperationError {
        OperationError(
            .notPossible,
            attempted: "probe --app \(app) --provider \(provider)",
            "no breaker is open",
            advice: "deliveries need no try; see bellhop providers"
        )
    }

    /// The effect, as two sentences.
    package var words: String {
        blocked.waiting > 0
            ? "The next try is due now: one of the \(blocked.count) that wait is sent within about five seconds. "
                + "If the provider accepts it, the others follow."
            : "The next try is due now. No delivery waits, so the next one is sent as the try."
    }

    package var json: JSONValue {
        .members([
            ("app", .string(blocked.app)), ("provider", .string(blocked.provider)),
            ("breaker", .string(blocked.reason)), ("waiting", .int(blocked.waiting)),
            ("waitingIsCapped", .bool(blocked.isCapped)), ("words", .string(words)),
        ])
    }
}

extension OperationFields {
    /// Returns the required provider.
    func provider() throws(OperationError) -> String {
        let names = CheckedProvider.allCases.map(\.rawValue)
        return try required("provider", "one of \(names.joined(separator: ", "))") { names.contains($0) ? $0 : nil }
    }
}
