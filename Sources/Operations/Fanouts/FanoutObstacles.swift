import BellhopRules
import ServiceRuntime
import Settings
import Store

/// The conditions around a fan-out that may delay it.
struct FanoutObstacles: Sendable {
    /// `nil` for a fan-out that has ended.
    let status: StoreStatus?
    /// The holds that affect the fan-out or may affect it later.
    let holds: [HeldShare]
    /// The number of workers that consume its pages, or `nil` if the broker was not or could not be asked.
    let consumers: Int?
}

/// A hold, and the number of deliveries of one fan-out that wait behind it.
struct HeldShare: Sendable {
    let hold: OperatorHold
    let waiting: Int
}

extension FanoutProgress {
    /// A page that waits for longer has no free worker.
    private static let usualWait = Duration.seconds(60)

    /// Whether no page was taken for longer than usual.
    func isWaiting(_ detail: FanoutDetail) -> Bool {
        guard record.state == .running, !detail.pages.contains(where: { $0.takenAt != nil }) else { return false }
        return standstill.map { $0 > Self.usualWait } ?? false
    }

    /// Returns the reasons why the fan-out does not progress, each as a sentence.
    ///
    /// The list is empty if it progresses.
    func obstacles(_ detail: FanoutDetail, _ surroundings: FanoutObstacles) -> [String] {
        switch record.state {
        case .finished: return held(surroundings.holds)
        case .cancelled:
            let taken = detail.pages.filter { $0.takenAt != nil }.count
            return held(surroundings.holds)
                + (taken == 0 ? [] : ["No more pages are planned; \(taken.of("page")) in progress may still complete."])
        case .paused: return [pause(detail)] + held(surroundings.holds)
        case .running:
            return held(surroundings.holds) + idle(detail, surroundings.consumers) + outlets(surroundings.status)
        }
    }

    /// Describes the holds.
    ///
    /// Held notifications are still recorded and their pages complete, but their pushes may wait much longer.
    private func held(_ holds: [HeldShare]) -> [String] {
        holds.filter { $0.waiting > 0 || record.finishedAt == nil }.map { share in
            let hold = share.hold
            let what =
                share.waiting > 0
                ? share.waiting.of("delivery of it waits", "deliveries of it wait") : "what it would send waits"
            let since = HumanText.ago(hold.placedAt, asOf)
            return "\(hold.operator) holds \(hold.scope.words) since \(since): \(hold.because). It is recorded in "
                + "the app, and \(what): bellhop hold release \(hold.number)."
        }
    }

    private func pause(_ detail: FanoutDetail) -> String {
        if let trouble = record.trouble { return "It was paused automatically: \(trouble); correct that and resume." }
        guard let act = detail.acts.first(where: { $0.act == "fanout-pause" }) else { return "It is paused." }
        return "\(act.operator) paused it \(HumanText.ago(act.at, asOf)): \(act.because)"
    }

    private func idle(_ detail: FanoutDetail, _ consumers: Int?) -> [String] {
        guard let standstill, standstill > Self.usualWait else { return [] }
        let taken = detail.pages.filter { $0.takenAt != nil }
        if let oldest = taken.compactMap(\.takenAt).min() {
            let what = "\(taken.count.of("page")) in progress, the first taken \(HumanText.ago(oldest, asOf))"
            return ["\(what): its worker is busy with it, or gone; it then comes up again within minutes."]
        }
        let lane = record.priority.lane.rawValue
        if detail.pages.isEmpty || detail.pages.allSatisfy({ $0.handedOverAt == nil }) {
            return ["Its pages are not released: check with bellhop status that a scheduler is running."]
        }
        switch consumers {
        case 0?: return ["No worker serves the \(lane) lane, and its pages wait there: start one (bellhop worker)."]
        case nil: return ["Its pages wait on the \(lane) lane, and no worker has taken one for \(standstill.roughly)."]
        case let count?:
            return ["Its pages wait on the \(lane) lane, and none of \(count.of("worker")) has room for them."]
        }
    }

    /// Describes obstacles at the outlets.
    ///
    /// Pushes continue in the ledger, independently of the pages.
    private func outlets(_ status: StoreStatus?) -> [String] {
        guard let status else { return [] }
        let breakers = status.breakers.filter { $0.key.app.text == record.app }.map { breaker in
            "\(breaker.key.provider) refuses \(record.app), \(breaker.reason): its pushes wait; see docs/providers.md."
        }
        let backlogs = status.backlogs.filter { $0.name.hasPrefix(record.app + "/") }.map { backlog in
            let count = backlog.count.grouped + (backlog.count >= StoreStatus.most ? " or more" : "")
            return "\(count) of its app wait in the backlog of \(backlog.name): recorded, and sent as it has room."
        }
        return breakers + backlogs
    }
}

extension HoldScope {
    func mayConcern(_ record: FanoutRecord) -> Bool {
        app.text == record.app && (type == nil || type?.text == record.type)
    }
}
