package import BellhopJSON
import BellhopRules
import Pipeline
import ServiceRuntime
package import Store

/// An open message that may be sent in a corrected form, since it was never recorded.
package struct EditableDeadLetter: Sendable {
    package let detail: DeadLetterDetail
    let dryRun: ReplayDryRun

    package var id: String { detail.summary.deadID }

    /// The body, or `nil` if it is not JSON.
    package var body: JSONValue? { HumanText.document(detail.origin.body) }
}

extension DeadLetterOperations {
    /// Returns the message that the fields name, if it may be edited.
    package func editable(_ input: DeadLetterInput) async throws -> EditableDeadLetter {
        let letter = EditableDeadLetter(detail: try await detail(input), dryRun: try dryRun(input))
        try await refuseRecorded(letter, input)
        try await refuseTooOld(letter.detail.summary, input)
        return letter
    }

    private func refuseRecorded(_ letter: EditableDeadLetter, _ input: DeadLetterInput) async throws {
        let summary = letter.detail.summary
        func refusal(_ message: String, _ advice: String) -> OperationError {
            input.error(.notPossible, message, advice: advice, about: summary.deadID)
        }
        if summary.state != .open { throw refusal("it is \(summary.state.rawValue)", "only open items can be edited") }
        if summary.delivery != nil {
            throw refusal(
                "its event is recorded, and the user may have read it: words that changed would be another event",
                "replay sends it as it is"
            )
        }
        if summary.cause.isOfInternalMessage {
            throw refusal("it is an internal message, not a producer's", "report it as a bug")
        }
        let arrival = ReplayDryRun.Arrival(letter.detail.origin, at: summary.firstFailedAt)
        if try await letter.dryRun.predict(arrival, at: input.now).kind == .alreadyRecorded {
            throw refusal("it is recorded already for its users", "replay sends what is still owed of it")
        }
    }

    /// Returns the body that the fields define: a document, the values to set, or the former body under another
    /// routing key; `nil` if they define none.
    package func newBody(of letter: EditableDeadLetter, _ input: DeadLetterInput) throws -> [UInt8]? {
        let origin = letter.detail.origin
        if !input.fields.document.isEmpty { return input.fields.document }
        if let cut = origin.cutBody {
            throw input.error(
                .notPossible,
                "only the beginning of its \(cut.bytes.of("byte")) is left",
                advice: "hand in a whole body with --file",
                about: letter.id
            )
        }
        let values = try input.valuesToSet()
        if !values.isEmpty { return try input.edited(letter.body, values, letter.id) }
        return input.fields.text("routing-key") == nil ? nil : origin.body
    }

    /// Returns the corrected copy with this body, if it can be recorded.
    package func edit(
        _ letter: EditableDeadLetter,
        _ body: [UInt8],
        _ input: DeadLetterInput
    ) async throws -> DeadLetterEdit {
        let origin = letter.detail.origin
        let copy = input.copy(of: letter.detail.summary, origin, body, letter.dryRun)
        let prediction = try await acceptable(copy, letter, input)
        let changes = JSONEdits.differences(letter.body, HumanText.document(body))
        guard !changes.isEmpty || copy.origin.routingKey != origin.routingKey || letter.body == nil else {
            let advice = "replay sends it as it is"
            throw input.error(.notPossible, "nothing was changed", advice: advice, about: letter.id)
        }
        let routingKey = copy.origin.routingKey == origin.routingKey ? nil : copy.origin.routingKey
        var edit = DeadLetterEdit(
            audited: AuditedChange.words(changes, routingKey: routingKey)
        )
        edit.add(
            Correction(copy, of: letter.id, changes, origin),
            of: letter.detail.summary.cause,
            prediction,
            DeadLetterEdit.lines(changes, copy, origin)
        )
        return edit
    }

    /// Returns the predicted outcome of a copy, or rejects a copy that would not be recorded.
    private func acceptable(
        _ copy: DeadLetterItem,
        _ letter: EditableDeadLetter,
        _ input: DeadLetterInput
    ) async throws -> ReplayPrediction {
        let arrival = ReplayDryRun.Arrival(copy.origin, at: copy.failedAt)
        let prediction = try await letter.dryRun.predict(arrival, at: input.now)
        let (message, advice): (String, String)
        switch prediction.kind {
        case .stillInvalid:
            let rejection = letter.dryRun.rejection(of: arrival) ?? prediction.detail ?? "invalid"
            let key = HumanText.cut(copy.origin.routingKey, to: 100)
            let remedy = "correct the body, with --routing-key the routing key, now \(key), or both"
            (message, advice) = ("the copy would be refused, \(rejection)", remedy)
        case .alreadyRecorded: (message, advice) = ("such an event is recorded already", "give it another id")
        default: return prediction
        }
        throw input.error(
            .refused,
            message,
            advice: "nothing was changed; \(advice)",
            about: input.fields.items.first ?? letter.id
        )
    }
}

extension DeadLetterInput {
    /// Returns the corrected copy of an item with this body, and with the routing key of the input if there is one.
    func copy(
        of summary: DeadLetterSummary,
        _ origin: DeadLetterItem.Origin,
        _ body: [UInt8],
        _ dryRun: ReplayDryRun
    ) -> DeadLetterItem {
        let routingKey = fields.text("routing-key")
        return dryRun.naming(DeadLetterItem(correcting: summary, origin, body, routingKey: routingKey, at: now))
    }

    /// The values to put into bodies, in order.
    func valuesToSet() throws(OperationError) -> [PlacedValue] {
        try fields.texts("set").map { (text) throws(OperationError) in
            guard let value = PlacedValue(text) else {
                throw .invalid("set", "takes a place and a value, such as /id=evt-1; found \(text)")
            }
            return value
        }
    }

    /// Returns the body with these values in their places.
    func edited(_ body: JSONValue?, _ values: [PlacedValue], _ item: String) throws(OperationError) -> [UInt8] {
        guard var document = body else {
            let message = "the body is not JSON, so --set cannot address it"
            throw error(.refused, message, advice: "hand in the whole body with --file", about: item)
        }
        for placed in values {
            let value = placed.isOfID ? placed.value.naming(item) : placed.value
            guard let changed = JSONEdits.setting(value, at: placed.place.steps[...], in: document) else {
                let message = "there can be nothing at \(placed.place.text)"
                throw error(.refused, message, advice: "show prints its places", about: item)
            }
            document = changed
        }
        return JSONWriter.canonicalBytes(of: document)
    }
}

extension DeadLetterCause {
    /// Whether the message came from Bellhop itself and not from a producer.
    var isOfInternalMessage: Bool { [.resume, .receipt].contains(stage) }
}

extension Correction {
    /// Creates the correction, with the changed places for the history.
    init(
        _ copy: DeadLetterItem,
        of id: String,
        _ changes: [JSONEdits.Difference],
        _ before: DeadLetterItem.Origin
    ) {
        let places = changes.map(\.placeName) + (copy.origin.routingKey == before.routingKey ? [] : ["the routing key"])
        self.init(copy, of: id, changes: places.joined(separator: ", "))
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
