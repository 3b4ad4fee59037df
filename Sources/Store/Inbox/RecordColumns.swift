import BellhopRules
import Postgres

/// The columns of `InboxStatements.record`, filled record by record in their wire form: the widest parameters that a worker
/// sends, at every batch.
struct RecordColumns {
    private var person: ArrayParameter
    private var id: ArrayParameter
    private var position: ArrayParameter
    private var urgency: ArrayParameter
    private var unsent: ArrayParameter
    private var unsentReason: ArrayParameter
    private var contentHash: ArrayParameter
    private var event: ArrayParameter
    private var type: ArrayParameter
    private var title: ArrayParameter
    private var body: ArrayParameter
    private var venue: ArrayParameter
    private var web: ArrayParameter
    private var mobile: ArrayParameter
    private var scheme: ArrayParameter
    private var data: ArrayParameter
    private var target: ArrayParameter
    private var metadata: ArrayParameter
    private var extras: ArrayParameter
    private var collapseKey: ArrayParameter
    private var app: ArrayParameter
    private var subject: ArrayParameter
    private var saidAt: ArrayParameter
    private var lines = LineColumns()

    /// Of users who have a number; each record once.
    init(of records: [InboxRecord]) {
        let count = records.count
        person = ArrayParameter(.bigint, expecting: count)
        id = ArrayParameter(.bigint, expecting: count)
        position = ArrayParameter(.bigint, expecting: count)
        urgency = ArrayParameter(.bigint, expecting: count)
        unsent = ArrayParameter(.text, expecting: count, width: 1)
        unsentReason = ArrayParameter(.text, expecting: count, width: 2)
        contentHash = ArrayParameter(.bytea, expecting: count, width: 16)
        event = ArrayParameter(.text, expecting: count, width: 32)
        type = ArrayParameter(.text, expecting: count, width: 20)
        title = ArrayParameter(.text, expecting: count, width: 32)
        body = ArrayParameter(.text, expecting: count, width: 64)
        venue = ArrayParameter(.text, expecting: count, width: 2)
        web = ArrayParameter(.text, expecting: count, width: 32)
        mobile = ArrayParameter(.text, expecting: count, width: 32)
        scheme = ArrayParameter(.text, expecting: count, width: 32)
        data = ArrayParameter(.text, expecting: count, width: 96)
        target = ArrayParameter(.text, expecting: count, width: 16)
        metadata = ArrayParameter(.text, expecting: count, width: 32)
        extras = ArrayParameter(.text, expecting: count, width: 2)
        collapseKey = ArrayParameter(.text, expecting: count, width: 2)
        app = ArrayParameter(.text, expecting: count, width: 8)
        subject = ArrayParameter(.bytea, expecting: count, width: 16)
        saidAt = ArrayParameter(.timestamptz, expecting: count)
        for record in records { append(record) }
    }

    private mutating func append(_ record: InboxRecord) {
        let words = record.words
        person.append(record.key.recipient.number)
        id.append(record.id.number)
        position.append(Int64(record.position))
        urgency.append(words.content.priority.urgency)
        contentHash.append(bytes: words.contentHash.bytes)
        event.append(words.content.event.text)
        type.append(words.content.type.text)
        title.append(words.content.title)
        body.append(words.content.body)
        venue.append(words.content.venueID)
        web.append(words.content.link?.web)
        mobile.append(words.content.link?.mobile)
        scheme.append(words.content.link?.scheme)
        data.append(json: words.data)
        target.append(words.content.extras.targetID)
        metadata.append(json: words.metadata)
        extras.append(json: words.extras)
        collapseKey.append(words.content.extras.collapseKey)
        app.append(record.app.text)
        subject.append(bytes: SubjectHash.recipient(record.app, record.user).bytes)
        saidAt.append(instant: words.saidAt?.microseconds)
        var nobody: OpeningDelivery?
        for line in record.deliveries {
            if line.isUnsent { nobody = line } else { lines.append(line, of: record) }
        }
        unsent.append(nobody?.state.letter)
        unsentReason.append(nobody?.reason)
    }

    /// In the order of the statement.
    func parameters(_ claim: Claim) -> [Parameter] {
        let columns: [ArrayParameter] = [
            person, id, position, urgency, unsent, unsentReason, contentHash, event, type, title, body,
            venue, web, mobile, scheme, data, target, metadata, extras, collapseKey, app, subject, saidAt,
        ]
        return columns.map(Parameter.column) + [.integer(claim.number)] + lines.parameters
    }
}

/// The columns of the lines of the ledger that open with a batch of records.
private struct LineColumns {
    private var person = ArrayParameter(.bigint)
    private var id = ArrayParameter(.bigint)
    private var target = ArrayParameter(.bigint)
    private var state = ArrayParameter(.text)
    private var reason = ArrayParameter(.text)
    private var dueAt = ArrayParameter(.timestamptz)
    private var decision = ArrayParameter(.jsonb)
    private var urgency = ArrayParameter(.bigint)

    mutating func append(_ line: OpeningDelivery, of record: InboxRecord) {
        person.append(record.key.recipient.number)
        id.append(record.id.number)
        target.append(TargetNumber.number(of: line.target))
        state.append(line.state.letter)
        reason.append(line.reason)
        dueAt.append(instant: line.wait?.until.microseconds)
        decision.append(json: line.wait?.json)
        urgency.append(record.words.content.priority.urgency)
    }

    var parameters: [Parameter] {
        let columns: [ArrayParameter] = [person, id, target, state, reason, dueAt, decision, urgency]
        return columns.map(Parameter.column)
    }
}
