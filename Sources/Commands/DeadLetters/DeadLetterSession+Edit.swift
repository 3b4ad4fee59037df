import BellhopRules
import CLI
import Operations
import Pipeline
import ServiceRuntime
import Store

extension DeadLetterSession {
    /// Performs `edit`: it sends a corrected copy of a message that was never recorded, and marks the original as
    /// resolved by the copy.
    func edit() async throws -> ExitCode {
        if operands.isEmpty { return try await editMany() }
        let detail = try await detail()
        let id = detail.summary.deadID
        let forecast = try forecast()
        try await refuseRecorded(detail, forecast)
        try await refuseTooOld(detail.summary)
        let original = HumanText.document(detail.origin.body)
        // An operator who sees a body in an editor is recorded first. In all other cases the reason is asked last.
        let desk = needsEditor ? try actingOperator() : nil
        let body = try await newBody(of: detail, original, desk)
        var draft = desk == nil ? nil : EditedDraft.keep(body, of: id)
        do {
            let correction = try await correction(body, for: detail, original, forecast)
            if words.has("dry-run") {
                if let draft { print(draft.words) }
                return foresee(1)
            }
            guard try confirm(1, "sends a corrected copy of 1 item in its place") else {
                if let draft { print(draft.words) }
                return .answerIsNo
            }
            let outcome = try await self.desk.hand(in: [correction], by: try desk ?? actingOperator())
            guard case .sent(let replay, _) = outcome else {
                throw failure(.tryAgain, "it is no longer open", "look again", id)
            }
            draft?.remove()
            draft = nil
            if !isJSON { print("The copy is \(correction.copy.deadID), sent by replay \(replay).") }
            guard words.has("detach") else { return try await watch(replay) }
            if isJSON { print(Self.sent(correction.copy, replay).written) }
            return .done
        } catch let failure as CommandFailure {
            throw draft?.telling(failure) ?? failure
        } catch {
            // A database error names the database, but only this code can report the path of the draft.
            if let draft { request.shell.complaints.print(line: draft.words) }
            throw error
        }
    }

    private static func sent(_ copy: DeadLetterItem, _ replay: Int64) -> JSONValue {
        .members([
            ("items", .int(1)), ("copy", .string(copy.deadID)), ("replay", .int(replay)),
        ])
    }

    /// Whether an operator writes the text in an editor.
    private var needsEditor: Bool {
        words.value("file") == nil && words.allValues("set").isEmpty && words.value("routing-key") == nil
    }

    /// Returns the copy with this body after checking that it can be recorded, and shows the changes.
    private func correction(
        _ body: [UInt8],
        for detail: DeadLetterDetail,
        _ original: JSONValue?,
        _ forecast: ReplayDryRun
    ) async throws -> Correction {
        let id = detail.summary.deadID
        let copy = forecast.naming(
            DeadLetterItem(
                correcting: detail.summary,
                detail.origin,
                body,
                routingKey: words.value("routing-key"),
                at: now
            )
        )
        try await refuseInvalid(copy, forecast)
        let changes = JSONEdits.differences(original, HumanText.document(body))
        guard !changes.isEmpty || copy.origin.routingKey != detail.origin.routingKey || original == nil else {
            throw failure(.answerIsNo, "nothing was changed", "replay sends it as it is", id)
        }
        if !isJSON { show(changes, copy, detail.origin) }
        return Correction(copy, of: id, changes: Self.places(changes, copy, detail.origin))
    }

    /// Returns the places that differ, for the history.
    static func places(
        _ changes: [JSONEdits.Difference],
        _ copy: DeadLetterItem,
        _ before: DeadLetterItem.Origin
    ) -> String {
        let places = changes.map { $0.place.text.isEmpty ? "the whole body" : $0.place.text }
        return (places + (copy.origin.routingKey == before.routingKey ? [] : ["the routing key"])).joined(
            separator: ", "
        )
    }

    // MARK: - Items that may be edited

    private func refuseRecorded(_ detail: DeadLetterDetail, _ forecast: ReplayDryRun) async throws {
        let summary = detail.summary
        if summary.state != .open {
            throw failure(
                .answerIsNo,
                "it is \(summary.state.rawValue)",
                "only open items can be edited",
                summary.deadID
            )
        }
        if summary.delivery != nil {
            throw failure(
                .answerIsNo,
                "its event is recorded, and the user may have read it: words that changed would be another event",
                "replay sends it as it is",
                summary.deadID
            )
        }
        if [.resume, .receipt].contains(summary.cause.stage) {
            throw failure(
                .answerIsNo,
                "it is an internal message, not a producer's",
                "report it as a bug",
                summary.deadID
            )
        }
        let prediction = try await forecast.predict(.init(detail.origin, at: summary.firstFailedAt), at: now)
        if prediction.kind == .alreadyRecorded {
            throw failure(
                .answerIsNo,
                "it is recorded already for its users",
                "replay sends what is still owed of it",
                summary.deadID
            )
        }
    }

    private func refuseInvalid(_ copy: DeadLetterItem, _ forecast: ReplayDryRun) async throws {
        let prediction = try await forecast.predict(.init(copy.origin, at: copy.failedAt), at: now)
        switch prediction.kind {
        case .stillInvalid:
            let rejection = forecast.rejection(of: .init(copy.origin, at: copy.failedAt))
            throw failure(
                .badInput,
                "the copy would be refused, \(rejection ?? prediction.detail ?? "invalid")",
                "nothing was changed; correct it",
                operands[0]
            )
        case .alreadyRecorded:
            throw failure(
                .badInput,
                "such an event is recorded already",
                "nothing was changed; give it another id",
                operands[0]
            )
        default: return
        }
    }

    // MARK: - The new body

    private func newBody(
        of detail: DeadLetterDetail,
        _ original: JSONValue?,
        _ desk: ActingOperator?
    ) async throws -> [UInt8] {
        if let path = words.value("file") { return try EventFile.read(path, request.shell) }
        if let cut = detail.origin.cutBody {
            throw failure(
                .answerIsNo,
                "only the beginning of its \(cut.bytes.of("byte")) is left",
                "hand in a whole body with --file",
                detail.summary.deadID
            )
        }
        let settings = try settings
        if !settings.isEmpty { return try edited(original, settings, detail.summary.deadID) }
        if words.value("routing-key") != nil { return detail.origin.body }
        guard let desk, request.shell.terminal != nil else {
            throw words.misuse(
                "edit needs --set, --file, or a terminal for $EDITOR"
            )
        }
        var filter = DeadLetterFilter()
        filter.ids = [detail.summary.deadID]
        try await self.desk.audit("reveal", filter, items: 1, by: desk)
        let text = original.map { PrettyJSON.lines($0).joined(separator: "\n") + "\n" }.map { [UInt8]($0.utf8) }
        return try await TextEditor(request.shell.environment).edit(text ?? detail.origin.body)
    }

    /// Returns the body with these values in their places.
    ///
    /// `item` names the item in errors.
    func edited(_ original: JSONValue?, _ settings: [PlacedValue], _ item: String) throws(CommandFailure) -> [UInt8] {
        guard var document = original else {
            throw failure(
                .badInput,
                "the body is not JSON, so --set cannot address it",
                "hand in the whole body with --file",
                item
            )
        }
        for setting in settings {
            let value = setting.isOfID ? setting.value.naming(item) : setting.value
            guard let changed = JSONEdits.setting(value, at: setting.place.steps[...], in: document) else {
                throw failure(
                    .badInput,
                    "there can be nothing at \(setting.place.text)",
                    "show prints its places",
                    item
                )
            }
            document = changed
        }
        return JSONWriter.canonicalBytes(of: document)
    }

    /// The values of `--set`, in order.
    var settings: [PlacedValue] {
        get throws(CommandFailure) {
            try words.allValues("set").map { (word) throws(CommandFailure) in
                guard let setting = PlacedValue(word) else {
                    throw words.misuse("--set takes a place and a value, such as /id=evt-1; found \(word)")
                }
                return setting
            }
        }
    }

    /// Shows the changes.
    ///
    /// The old values stay masked, since they are personal data.
    func show(_ changes: [JSONEdits.Difference], _ copy: DeadLetterItem, _ before: DeadLetterItem.Origin) {
        func text(_ value: JSONValue) -> String {
            HumanText.cut(String(decoding: JSONWriter.canonicalBytes(of: value), as: UTF8.self), to: 200)
        }
        for change in changes {
            let place = change.place.text.isEmpty ? "the whole body" : change.place.text
            if let before = change.before {
                let masked = change.place.text.isEmpty ? MaskedJSON.body(before) : MaskedJSON.part(before)
                print("- \(place) \(text(masked))")
            }
            if let after = change.after { print("+ \(place) \(text(after))") }
        }
        guard copy.origin.routingKey != before.routingKey else { return }
        print("- routing key \(HumanText.cut(before.routingKey, to: 100))")
        print("+ routing key \(copy.origin.routingKey)")
    }
}

extension DeadLetterItem {
    /// Creates the item of a corrected copy.
    ///
    /// Headers and properties are unchanged, body and routing key are new.
    init(
        correcting summary: DeadLetterSummary,
        _ original: Origin,
        _ body: [UInt8],
        routingKey: String?,
        at now: Timestamp
    ) {
        var origin = original
        origin.body = body
        origin.markWhole()
        origin.routingKey = routingKey ?? origin.routingKey
        let mark = UInt64.random(in: .min ... .max)
        var cause = summary.cause
        cause.stage = .desk
        cause.pointer = nil
        cause.provider = nil
        cause.error = "the corrected copy of \(summary.deadID)"
        self.init(
            "edit-" + String(mark, radix: 16),
            cause,
            failedAt: now,
            origin: origin,
            contentHash: Array(String(mark, radix: 16).utf8)
        )
    }
}
