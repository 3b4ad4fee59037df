package import BellhopJSON
import ServiceRuntime
package import Store

/// The result of adding a hold.
package struct HoldAdded: Sendable {
    /// Whether the hold is new; otherwise the same one existed already.
    package let isNew: Bool
    package let held: HeldDeliveries
    package let workers: HoldConfirmation

    package var json: JSONValue {
        .members([("added", .bool(isNew)), ("hold", held.json), ("workers", workers.json)])
    }
}

/// The deliveries that the release of a hold would send.
package struct HoldRelease: Sendable {
    package let hold: OperatorHold
    /// All deliveries behind the hold, whatever their event.
    package let count: HoldCount
    /// The number of them that are of the event of a stopped fan-out; `nil` if the release is of the hold alone.
    package let ofEvent: Int?
    /// The deliveries of recent fan-outs that workers had claimed before the hold, and that have no outcome.
    package let claimed: ClaimedDeliveries

    /// The deliveries and their users, as `3 deliveries of all events to 2 users`.
    package var words: String {
        let users = count.users.of("user")
        guard let ofEvent else { return "\(count.deliveries.deliveries) of all events to \(users)" }
        return "\(count.deliveries.deliveries) to \(users), \(ofEvent.grouped) of this event"
    }

    /// The deliveries behind the hold and the claimed ones, which come back if their worker was killed.
    package var deliveries: Int { count.deliveries + claimed.count }

    package var question: ActQuestion {
        guard deliveries > 0 else { return ActQuestion(count: 0, .releases, "the hold; nothing is held") }
        return ActQuestion(count: deliveries, .sends, object, lines: claimed.words.map { [$0] } ?? [])
    }

    /// The question before fan-outs are resumed and the hold is released in one act.
    package func question(resuming fanouts: Int) -> ActQuestion {
        ActQuestion(count: deliveries, .resumes, "\(fanouts.of("fan-out")) together with \(object)")
    }

    private var object: String {
        let others = claimed.count > 0 ? ", and \(claimed.number) that workers had claimed before" : ""
        return "\(words)\(others), held by \(hold.scope.words) (\(hold.operator): \(hold.because))"
    }

    /// Whether the release needs no agreement, because it sends only a few deliveries.
    package var isSmall: Bool { deliveries < ActQuestion.many }

    /// Whether the operator has agreed to about this number.
    ///
    /// A hold collects deliveries while the operator reads the question, so only a number that has more than doubled is
    /// asked for again.
    func isCovered(by agreement: Agreement?) -> Bool {
        isSmall || agreement.map { deliveries <= 2 * $0.count } ?? false
    }
}

/// The result of releasing a hold.
package struct HoldReleased: Sendable {
    /// The hold and its deliveries, counted before the release.
    package let held: HeldDeliveries
    /// Other holds that still apply to some of the deliveries.
    package let stillHeldBy: [OperatorHold]

    package var json: JSONValue {
        .members([("released", held.json), ("heldBy", .array(stillHeldBy.map { .int($0.number) }))])
    }
}

/// The deliveries behind a hold that a discard would affect.
package struct HoldDiscard: Sendable {
    package let hold: OperatorHold
    let selection: HoldSelection
    package let count: HoldCount
    /// The number of the event's deliveries that reach the hold later.
    package let deferred: Int

    /// Whether only deliveries of one event are discarded.
    package var isOfEvent: Bool { selection.event != nil }

    /// The number of all of them.
    package var deliveries: Int { count.deliveries + deferred }

    /// The deliveries and their users, as `3 deliveries to 2 users`.
    package var words: String {
        let waiting = "\(count.deliveries.deliveries) to \(count.users.of("user"))"
        guard deferred > 0 else { return waiting }
        let later = "\(deferred.deliveries) deferred for quiet hours, a digest or a retry"
        return count.deliveries == 0 ? later : "\(waiting) and \(later)"
    }

    package var question: ActQuestion {
        ActQuestion(
            count: deliveries,
            .discards,
            "\(words), held by \(hold.scope.words)",
            asOf: selection.recordedBy ?? count.asOf
        )
    }

    /// The answer of a dry run.
    package var json: JSONValue {
        .members([("wouldDiscard", .int(deliveries)), ("users", .int(count.users)), ("deferred", .int(deferred))])
    }

    /// Returns the answer if nothing matches; `isNoted` tells whether workers end the deliveries that come back later.
    package func nothing(isNoted: Bool) -> String {
        let later =
            isNoted
            ? HoldDiscarded.includesKilledWorkers
            : "\(HoldDiscarded.killedWorkers) Discard again then, before a release."
        return
            "Nothing waits behind hold \(hold.number) that matches. Deliveries that were sent before the hold cannot be "
            + "recalled. \(later)"
    }
}

/// The result of discarding held deliveries.
package struct HoldDiscarded: Sendable {
    package let count: Int
    /// The number of matching deliveries that still wait.
    package let left: Int

    package static let nothing = HoldDiscarded(count: 0, left: 0)

    package var json: JSONValue { .members([("discarded", .int(count)), ("left", .int(left))]) }

    /// No index has the first sends of all events, so that those of a killed worker cannot be counted before they return.
    package static let killedWorkers =
        "If a worker was killed, the deliveries that it was sending come back behind the hold, usually within ten minutes; "
        + "until then, bellhop fanouts show counts them as being sent."
    /// The same after a discard of an event, which includes them.
    package static let includesKilledWorkers =
        "If a worker was killed, the deliveries that it was sending end as discarded when they come back, also after the "
        + "release; until then, bellhop fanouts show counts them as being sent."
}

extension Int {
    /// The number as `1 delivery` or `12,431 deliveries`.
    package var deliveries: String { of("delivery", "deliveries") }
}
