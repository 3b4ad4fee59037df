import BellhopRules
import ServiceRuntime
import Store

/// Deliveries of recent fan-outs in the scope of a hold that are being sent, or whose worker was killed.
///
/// A worker that observes a hold sends nothing in its scope, so that after some seconds only the claims of killed
/// workers remain. They return behind the hold, or are sent if it is released before.
package struct ClaimedDeliveries: Sendable, Equatable {
    package let count: Int
    /// Whether not all users of the fan-outs were counted.
    package let isCapped: Bool

    package static let none = ClaimedDeliveries(count: 0, isCapped: false)

    /// The number as `1,800`, or `at least 1,800`.
    var number: String { (isCapped ? "at least " : "") + count.grouped }

    /// The effect of the release, as a sentence; `nil` if there are none.
    package var words: String? {
        guard count > 0 else { return nil }
        let atLeast = isCapped ? "At least " : ""
        return
            "\(atLeast)\(count.deliveries) of fan-outs \(count == 1 ? "has" : "have") a claim and no outcome: those of a "
            + "killed worker come back, usually within ten minutes, and are sent then. To end them, discard first."
    }
}

extension HoldOperations {
    /// The number of latest fan-outs whose claims are counted, and the age after which none is left.
    private static let (claimedFanouts, claimedFor) = (3, Duration.seconds(3_600))
    /// The number of pages of an app's users that are read for all of the fan-outs together.
    private static let pagesCounted = 20

    /// Counts the claimed deliveries of the latest fan-outs in the scope of a hold.
    ///
    /// No index has the claims of first sends, so that those of single events are not counted. With a provider in the
    /// scope, the claims of live workers at other providers cannot be told apart. After a discard of its event, a claim
    /// ends as discarded.
    func claimed(in scope: HoldScope) async throws -> ClaimedDeliveries {
        guard scope.provider == nil else { return .none }
        let fanouts = FanoutAdmin(pool: context.pool)
        var filter = FanoutFilter()
        (filter.app, filter.type) = (scope.app.text, scope.type?.text)
        let found = try await fanouts.latest(filter, atMost: Self.claimedFanouts, counting: 0)
        let recent = found.filter { progress in
            let last = max(progress.record.startedAt, progress.record.progress.workedAt ?? progress.record.startedAt)
            return progress.asOf.microseconds - last.microseconds < Self.claimedFor.microseconds
        }
        let events = recent.map(\.record.event)
        let discarded = try await HoldAdmin(pool: context.pool).discardedEvents(events, in: scope.app)
        let left = events.filter { !discarded.contains($0) }
        var (count, isCapped) = (0, false)
        for event in left {
            var last: String? = ""
            for _ in 0..<max(1, Self.pagesCounted / left.count) {
                guard let user = last else { break }
                let page = try await fanouts.users(of: event, in: scope.app.text, after: user)
                count += page.users.map(\.deliveries.beingSent).reduce(0, +)
                last = page.last
            }
            isCapped = isCapped || last != nil
        }
        return ClaimedDeliveries(count: count, isCapped: isCapped)
    }
}
