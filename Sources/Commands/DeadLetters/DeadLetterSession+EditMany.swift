import BellhopRules
import CLI
import Operations
import Pipeline
import ServiceRuntime
import Store

/// One change for many items: the corrections that can be sent, and the reasons why other items are left out.
private struct BulkEdit {
    var corrections: [Correction] = []
    /// The number of items that are left out, by reason.
    var left: [String: Int] = [:]
    var bytes = 0
}

extension DeadLetterSession {
    /// Performs `edit FILTER --set …`: it applies one change to all items that match the filter.
    ///
    /// Shows the difference of the first item, and how many items would be recorded with the change. The others stay
    /// unchanged.
    func editMany() async throws -> ExitCode {
        guard words.value("file") == nil, !words.allValues("set").isEmpty || words.value("routing-key") != nil else {
            throw words.misuse(
                "edit takes one item, or a filter with --set or --routing-key: one change for all of them"
            )
        }
        var filter = try await filterOfAct().with(state: .open)
        let count = try await desk.count(filter)
        filter.filedBy = filter.filedBy ?? count.asOf
        guard count.items > 0 else {
            answer(.members([("items", .int(0))]), lines: ["No open items match."])
            return .answerIsNo
        }
        guard count.items <= Self.mostEdited else {
            let most = Self.mostEdited.of("item")
            throw failure(.badInput, "\(count.items.of("item")) match, and one edit is for \(most)", "add --limit")
        }
        if count.items > 1 { try expectIDsOfTheirOwn(count.items) }
        let found = try await corrections(filter)
        let tally = found.left.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        for (why, count) in tally where !isJSON { print("\(count.of("item stays", "items stay")): \(why)") }
        let valid = found.corrections.count
        guard valid > 0 else { return tell(0, found.left, replay: nil) }
        if words.has("dry-run") { return foresee(valid, found.left) }
        let deed = "sends corrected copies of \(valid.of("item")) in their place"
        guard try confirm(valid, asOf: filter.filedBy, deed) else { return .answerIsNo }
        switch try await desk.hand(in: found.corrections, by: try actingOperator()) {
        case .notOpen: throw failure(.tryAgain, "none of them is still open", "look again")
        case .sent(let replay, let items):
            if !isJSON { print("\(items.of("copy goes", "copies go")) out by replay \(replay).") }
            return words.has("detach") ? tell(items, found.left, replay: replay) : try await watch(replay)
        }
    }

    /// Rejects one id for several items, since they would become one event.
    ///
    /// A user of two of them would get only the first.
    private func expectIDsOfTheirOwn(_ items: Int) throws(CommandFailure) {
        for setting in try settings where setting.isOfID {
            guard setting.value.string?.contains(JSONValue.itemMark) != true else { continue }
            throw failure(
                .badInput,
                "one id for \(items.of("item")) would make one event of them",
                "--set '/id=\(JSONValue.itemMark)' gives each an id of its own, made of the item's"
            )
        }
    }

    /// Reports what an edit would send, for `--dry-run`, of one item or many.
    func foresee(_ items: Int, _ left: [String: Int] = [:]) -> ExitCode {
        answer(
            .members([("wouldSend", .int(items)), ("left", Self.json(left))]),
            lines: ["This would send \(items.of("corrected copy", "corrected copies")); nothing was changed."]
        )
        return .done
    }

    private static func json(_ left: [String: Int]) -> JSONValue {
        .members(left.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.int($0.value)) })
    }

    private static let mostEdited = 1_000
    private static let mostBytes = 64 << 20

    private func tell(_ items: Int, _ left: [String: Int], replay: Int64?) -> ExitCode {
        answer(
            .members([
                ("items", .int(items)), ("left", Self.json(left)),
                ("replay", replay.map { .int($0) } ?? .null),
            ]),
            lines: items == 0 ? ["None of them would be taken in; nothing was changed."] : []
        )
        return items == 0 ? .answerIsNo : .done
    }

    private func corrections(_ filter: DeadLetterFilter) async throws -> BulkEdit {
        let (forecast, cutoff) = (try forecast(), try await cutoff())
        var found = BulkEdit()
        var last = ""
        while true {
            let page = try await desk.messages(filter, after: last, atMost: 200)
            guard let end = page.last else { return found }
            last = end.summary.deadID
            for item in page {
                if let why = try await obstacle(item, cutoff, forecast) {
                    found.left[why, default: 0] += 1
                    continue
                }
                try await correct(item, forecast, &found)
            }
            guard found.bytes <= Self.mostBytes else {
                throw failure(.badInput, "the bodies exceed 64 MiB", "edit fewer items, with --limit")
            }
        }
    }

    /// Returns the reason why an item cannot be corrected at all.
    private func obstacle(
        _ item: DeadLetterMessage,
        _ cutoff: ReplayCutoff,
        _ forecast: ReplayDryRun
    ) async throws -> String? {
        let summary = item.summary
        if summary.delivery != nil { return "recorded, and a delivery was given up: replay sends it as it is" }
        if [.resume, .receipt].contains(summary.cause.stage) { return "an internal message, not a producer's" }
        if item.origin.cutBody != nil { return "only the beginning of the body is left" }
        if summary.firstFailedAt < cutoff.earliest { return "too old to be sent" }
        let now = try await forecast.predict(.init(item.origin, at: summary.firstFailedAt), at: now)
        return now.kind == .alreadyRecorded ? "recorded already for its users" : nil
    }

    /// Returns the changed body, or `nil` if the body cannot have a value at a place of the change.
    private func changedBody(_ original: JSONValue?, _ item: DeadLetterMessage) throws -> [UInt8]? {
        let settings = try settings
        guard !settings.isEmpty else { return item.origin.body }
        do {
            return try edited(original, settings, item.summary.deadID)
        } catch {
            guard error.exitCode == .badInput else { throw error }
            return nil
        }
    }

    private func correct(
        _ item: DeadLetterMessage,
        _ forecast: ReplayDryRun,
        _ found: inout BulkEdit
    ) async throws {
        let original = HumanText.document(item.origin.body)
        let routingKey = words.value("routing-key")
        guard let body = try changedBody(original, item) else {
            found.left["the change has no place in it", default: 0] += 1
            return
        }
        let copy = forecast.naming(
            DeadLetterItem(correcting: item.summary, item.origin, body, routingKey: routingKey, at: now)
        )
        let prediction = try await forecast.predict(.init(copy.origin, at: now), at: now)
        guard ![.stillInvalid, .alreadyRecorded].contains(prediction.kind) else {
            found.left[
                prediction.kind == .alreadyRecorded
                    ? "such an event is recorded already"
                    : "refused again, \(prediction.detail ?? "invalid")",
                default: 0
            ] += 1
            return
        }
        let changes = JSONEdits.differences(original, HumanText.document(body))
        guard !changes.isEmpty || copy.origin.routingKey != item.origin.routingKey else {
            found.left["nothing would change", default: 0] += 1
            return
        }
        if found.corrections.isEmpty, !isJSON {
            print("The first, \(item.summary.deadID):")
            show(changes, copy, item.origin)
        }
        found.bytes += body.count
        found.corrections.append(
            Correction(copy, of: item.summary.deadID, changes: Self.places(changes, copy, item.origin))
        )
    }
}
