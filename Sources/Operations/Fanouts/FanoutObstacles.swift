import BellhopRules
import ServiceRuntime
import Settings
import Store

/// The conditions around a fan-out that may delay it.
struct FanoutObstacles: Sendable {
    let status: StoreStatus
    /// The holds that affect the fan-out or may affect it later.
    let holds: [HeldShare]
    /// The number of workers that consume its pages, or `nil` if the broker was not asked.
    let consumers: Observed<Int?>?
}

/// A hold, and the number of deliveries of one fan-out that wait behind it.
struct HeldShare: Sendable {
    let hold: OperatorHold
    let waiting: Int
}

extension FanoutProgress {
    /// A page that waits for longer has no free worker.
    private static let usualWait = Duration.seconds(60)

    /// Returns the reasons why the fan-out does not progress, each as a sentence.
    ///
    /// The list is empty if it progresses.
    func obstacles(_ detail: FanoutDetail, _ surroundings: FanoutObstacles) -> [String] {
        switch record.state {
        case .finished: return held(surroundings.holds) + backlogs(surroundings)
        case .cancelled:
            let taken = detail.pages.filter { $0.takenAt != nil }.count
            return held(surroundings.holds) + backlogs(surroundings)
                + (taken == 0 ? [] : ["No more pages are planned; \(taken.of("page")) in progress may still complete."])
        case .paused: return [pause(detail, surroundings.holds)] + held(surroundings.holds) + backlogs(surroundings)
        case .running:
            var idle = idle(detail, surroundings.consumers?.value ?? nil)
            if let why = surroundings.consumers?.obstacle {
                let end = "It continues when the broker is back."
                idle = ["It waits for the broker, which cannot be reached: \(why). \(end)"]
            }
            if idle.isEmpty, !surroundings.status.hasWorker {
                idle = ["No worker runs, and it reaches no further user: start one (bellhop worker)."]
            }
            return held(surroundings.holds) + idle + breakers(surroundings.status)
                + backlogs(surroundings)
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
                ? share.waiting.of("delivery of this fan-out waits", "deliveries of this fan-out wait")
                : "what it would send waits"
            let since = "at \(HumanText.instant(hold.placedAt))"
            let reason = hold.unexplainedBy == nil ? "because \"\(hold.because)\"" : "and has given no reason yet"
            return
                "\(hold.operator) placed a hold on \(hold.scope.words) \(since) \(reason). Its notifications "
                + "are in the app, and \(what): bellhop hold discard \(hold.number) --event \(record.event) ends them, "
                + "bellhop hold release \(hold.number) sends them."
        }
    }

    private func pause(_ detail: FanoutDetail, _ holds: [HeldShare]) -> String {
        let undo = resumption(holds)
        if let trouble = record.trouble { return "It was paused automatically: \(trouble); correct that. \(undo)" }
        guard let act = detail.acts.first(where: { $0.act == "fanout-pause" }) else { return "It is paused. \(undo)" }
        // The latest act comes first: a reason that was given after the pause.
        let note = detail.acts.prefix { $0.act != "fanout-pause" }.first { $0.act == "fanout-note" }
        let because = act.because == ActingOperator.noReasonYet ? note?.because ?? act.because : act.because
        let words = because.last.map { ".!?".contains($0) } == true ? because : because + "."
        return "\(act.operator) paused it at \(HumanText.instant(act.at)): \(words) \(undo)"
    }

    /// The commands that continue and end a paused fan-out.
    ///
    /// The hold of a stopped campaign has the fan-out's type and no provider, and `--release` ends it, too.
    private func resumption(_ holds: [HeldShare]) -> String {
        let number = record.number
        let isStopped = holds.contains { $0.hold.scope.isType(of: record) }
        let resume =
            isStopped
            ? "resume \(number) --release continues it and releases its hold" : "resume \(number) continues it"
        return "bellhop fanouts \(resume), cancel \(number) ends it."
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

    private func breakers(_ status: StoreStatus) -> [String] {
        status.breakers.filter { $0.key.app.text == record.app }.map { breaker in
            "\(breaker.key.provider) refuses \(record.app), \(breaker.reason): its pushes wait; see docs/runbooks/provider-refuses.md."
        }
    }

    /// Describes the backlogs that may contain deliveries of the fan-out, apart from those behind a hold.
    ///
    /// Pushes continue in the ledger, independently of the pages, and also after the last page.
    private func backlogs(_ surroundings: FanoutObstacles) -> [String] {
        surroundings.status.backlogs.filter { backlog in
            guard backlog.count > 0, let part = OutletScope(backlog.name), part.app.text == record.app else {
                return false
            }
            let isOfType = part.type.map { $0.text == record.type } ?? true
            return isOfType && !surroundings.holds.contains { $0.hold.scope.owns(part) }
        }.map { backlog in
            let atLeast = backlog.count >= StoreStatus.most ? "at least " : ""
            let isPartlyHeld = surroundings.holds.contains { share in
                OutletScope(backlog.name).map(share.hold.scope.mayWait) ?? false
            }
            return "The backlog of \(backlog.name) contains \(atLeast)\(backlog.count.deliveries), of this fan-out or "
                + "of other events: they are recorded in the app, and sent as the provider has capacity"
                + (isPartlyHeld ? ", except deliveries behind a hold." : ".")
        }
    }
}

extension HoldScope {
    func mayConcern(_ record: FanoutRecord) -> Bool {
        app.text == record.app && (type == nil || type?.text == record.type)
    }
}
