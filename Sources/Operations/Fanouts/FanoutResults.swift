package import BellhopJSON
import BellhopRules
package import Store

/// The outcomes of a fan-out's deliveries, counted from the users' records.
package struct FanoutResults: Sendable, Equatable {
    /// The users with a notification of the fan-out.
    package private(set) var users = 0
    /// The users with at least one delivery that a provider accepted.
    package private(set) var usersSent = 0
    package private(set) var deliveries = FanoutDeliveries()
    /// Whether all users of the app were counted; otherwise the numbers are lower limits.
    package var isComplete = true

    mutating func add(_ user: FanoutUser) {
        users += 1
        if user.deliveries.sent > 0 { usersSent += 1 }
        deliveries += user.deliveries
    }

    /// The results as `6,000 sent to 5,999 users, 14,002 discarded, 3 not sent (2 type-muted, 1 no-device)`, and how
    /// many of the unsent ones may have arrived.
    ///
    /// The ledger has the reason `held` until a delivery is sent, so without a hold it means `released`. Without a
    /// worker, the deliveries that are being sent wait until another one takes them.
    package func text(isHeld: Bool, hasWorker: Bool) -> String {
        var waitingReasons = deliveries.waitingReasons
        if !isHeld, let released = waitingReasons.removeValue(forKey: WaitReason.held.rawValue) {
            waitingReasons["released from a hold"] = released
        }
        if deliveries.beingSent > 0 { waitingReasons[Self.beingSent(hasWorker)] = deliveries.beingSent }
        let counts = [
            (deliveries.waiting, "still waiting" + Self.words(waitingReasons)),
            (deliveries.discarded, "discarded"),
            (deliveries.notSent, "not sent" + Self.words(deliveries.notSentReasons)),
        ]
        let others = counts.filter { $0.0 > 0 }.map { "\($0.0.grouped) \($0.1)" }
        let sent = "\(deliveries.sent.grouped) sent to \(usersSent.of("user"))"
        let counted = (isComplete ? "" : "at least ") + ([sent] + others).joined(separator: ", ")
        guard deliveries.mayHaveArrived > 0 else { return counted }
        return
            "\(counted); \(deliveries.mayHaveArrived.grouped) of the unsent may have arrived: a send without an answer "
            + "preceded"
    }

    /// The state of deliveries that a worker has claimed.
    private static func beingSent(_ hasWorker: Bool) -> String {
        hasWorker ? "being sent" : "taken by a worker that no longer runs"
    }

    /// The limit of reasons in one line.
    private static let mostReasons = 5

    /// The reasons with the most deliveries, in parentheses; a delivery that has none is not listed.
    private static func words(_ reasons: [String: Int]) -> String {
        let known = sorted(reasons).filter { !$0.key.isEmpty }
        guard !known.isEmpty else { return "" }
        let others = known.dropFirst(mostReasons).map(\.value).reduce(0, +)
        let shown = known.prefix(mostReasons).map { "\($0.value.grouped) \($0.key)" }
        return " (" + (shown + (others > 0 ? ["\(others.grouped) others"] : [])).joined(separator: ", ") + ")"
    }

    private static func sorted(_ reasons: [String: Int]) -> [(key: String, value: Int)] {
        reasons.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    }

    private static func json(_ reasons: [String: Int]) -> JSONValue {
        .members(sorted(reasons).filter { !$0.key.isEmpty }.map { ($0.key, .int($0.value)) })
    }

    /// The failures of a fan-out of which at least half of the attempted pushes failed, such as
    /// `20,000 of 20,000 pushes failed`; `nil` if fewer did.
    package var failureWords: String? {
        let attempted = deliveries.sent + deliveries.failed
        guard deliveries.failed > 0, 2 * deliveries.failed >= attempted else { return nil }
        let least = isComplete ? "" : "at least "
        return "\(least)\(deliveries.failed.grouped) of \(attempted.of("push", "pushes")) failed"
    }

    package var json: JSONValue {
        .members([
            ("users", .int(users)), ("usersSent", .int(usersSent)), ("sent", .int(deliveries.sent)),
            ("waiting", .int(deliveries.waiting)), ("discarded", .int(deliveries.discarded)),
            ("notSent", .int(deliveries.notSent)), ("isComplete", .bool(isComplete)),
            ("waitingReasons", Self.json(deliveries.waitingReasons)),
            ("notSentReasons", Self.json(deliveries.notSentReasons)),
            ("mayHaveArrived", .int(deliveries.mayHaveArrived)), ("beingSent", .int(deliveries.beingSent)),
            ("failed", .int(deliveries.failed)), ("failureWords", .optional(failureWords)),
            ("goneWords", .optional(goneWords)),
        ])
    }

    /// The pushes that a stop cannot recall, in one sentence; `nil` if no count was possible.
    ///
    /// A worker holds some of the pushes that it has taken, and sends the others.
    package var goneWords: String? {
        let (sent, taken) = (deliveries.sent, deliveries.beingSent)
        let least = isComplete ? "" : "at least "
        guard sent + taken > 0 else { return isComplete ? "None of its pushes is sent." : nil }
        let counted = "Of its pushes, \(least)\(sent.grouped) \(sent == 1 ? "is" : "are") sent"
        guard taken > 0 else { return counted + "." }
        let ends = taken == 1 ? "is sent or goes" : "are sent or go"
        return "\(counted); \(taken.grouped) that workers have taken \(ends) behind the hold."
    }
}

extension FanoutUser {
    /// Whether a provider accepted a delivery, or a device may have it after a send without an answer.
    package var mayHaveIt: Bool { deliveries.sent > 0 || deliveries.mayHaveArrived > 0 }

    /// The outcome in a few words, for a table.
    package var outcome: String {
        if deliveries.sent > 0 { return "sent" }
        if deliveries.mayHaveArrived > 0 { return "may have arrived" }
        if deliveries.waiting > 0 { return "waiting" }
        return deliveries.discarded > 0 ? "discarded" : "not sent"
    }

    package var json: JSONValue {
        .members([
            ("user", .string(user)), ("notificationId", .string(notification.text)),
            ("recordedAt", .string(recordedAt.description)), ("readAt", .optional(readAt?.description)),
            ("outcome", .string(outcome)), ("sent", .int(deliveries.sent)), ("waiting", .int(deliveries.waiting)),
            ("discarded", .int(deliveries.discarded)), ("notSent", .int(deliveries.notSent)),
            ("reason", .optional(reason)), ("mayHaveArrived", .int(deliveries.mayHaveArrived)),
        ])
    }
}

extension FanoutOperations {
    /// The number of pages of the app's users that an answer counts: enough for most apps, and a second at most.
    static let pagesCounted = 20

    /// Counts the outcomes, up to a number of pages of the app's users.
    func results(of record: FanoutRecord, upTo pages: Int = pagesCounted) async throws -> FanoutResults {
        var results = FanoutResults()
        results.isComplete = try await forEachPage(of: record, upTo: pages) { page in
            for user in page.users { results.add(user) }
            return true
        }
        return results
    }

    /// Passes the users with a notification of one fan-out to `body`, page by page, until it returns `false`.
    package func users(
        of filter: FanoutFilter,
        _ body: (FanoutRecord, [FanoutUser]) throws -> Bool
    ) async throws -> FanoutRecord {
        let record = try await progress(of: filter, for: "list-users").record
        _ = try await forEachPage(of: record, upTo: .max) { try body(record, $0.users) }
        return record
    }

    /// Passes pages of the app's users after an id to `body`, until it returns `false`.
    ///
    /// - Returns: `false` if `pages` were passed and more may be left.
    func forEachPage(
        of record: FanoutRecord,
        after user: String = "",
        upTo pages: Int,
        _ body: (FanoutUserPage) throws -> Bool
    ) async throws -> Bool {
        var last = user
        for _ in 0..<pages {
            let page = try await store.users(of: record.event, in: record.app, after: last)
            guard try body(page), let end = page.last else { return true }
            last = end
        }
        return false
    }
}
