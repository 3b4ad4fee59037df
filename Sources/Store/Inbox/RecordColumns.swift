import BellhopRules
import Postgres

/// The columns of `InboxStatements.record`, filled record by record in their wire form.
///
/// They are the largest parameters that a worker sends, and every batch has them.
///
/// If many records share a few contents, as on a page of a fan-out, each content is sent once and each record refers to
/// it.
struct RecordColumns {
    private var person: ArrayParameter
    private var id: ArrayParameter
    private var position: ArrayParameter
    private var unsent: ArrayParameter
    private var unsentReason: ArrayParameter
    private var subject: ArrayParameter
    private var words: TextColumns
    private var lines = LineColumns()
    /// The index of each record's content, counted from one; `nil` if each record has separate content.
    private var place: ArrayParameter?

    /// Creates the columns of records whose users have numbers and whose ids are unique.
    init(of records: [InboxRecord]) {
        let count = records.count
        person = ArrayParameter(.bigint, expecting: count)
        id = ArrayParameter(.bigint, expecting: count)
        position = ArrayParameter(.bigint, expecting: count)
        unsent = ArrayParameter(.text, expecting: count, width: 1)
        unsentReason = ArrayParameter(.text, expecting: count, width: 2)
        subject = ArrayParameter(.bytea, expecting: count, width: 16)
        let shared = Self.shared(by: records)
        words = TextColumns(of: shared ?? records.map(\.words))
        place = shared.map { _ in ArrayParameter(.bigint, expecting: count) }
        for record in records {
            append(record)
            if let index = shared?.firstIndex(where: { $0 === record.words }) { place?.append(Int64(index + 1)) }
        }
    }

    /// Returns the distinct contents of the records; `nil` if there are more than ``mostShared``.
    private static func shared(by records: [InboxRecord]) -> [NotificationText]? {
        var found: [NotificationText] = []
        for record in records where !found.contains(where: { $0 === record.words }) {
            guard found.count < mostShared else { return nil }
            found.append(record.words)
        }
        return found
    }

    /// About the number of an event's languages: the server searches linearly for each record's content.
    private static let mostShared = 8

    private mutating func append(_ record: InboxRecord) {
        person.append(record.key.recipient.number?.value)
        id.append(record.id.number)
        position.append(Int64(record.position))
        subject.append(bytes: IdentityHash.recipient(record.app, record.user).bytes)
        var nobody: NewDelivery?
        for line in record.deliveries {
            if line.isUnsent { nobody = line } else { lines.append(line, of: record) }
        }
        unsent.append(nobody?.state.letter)
        unsentReason.append(nobody?.reason)
    }

    var statement: Statement { place == nil ? InboxStatements.record : InboxStatements.recordAlike }

    /// The parameters, in the order of the statement.
    func parameters(_ claim: Claim) -> [Parameter] {
        let columns = [person, id, position, unsent, unsentReason, subject] + words.columns
        return columns.map(Parameter.column) + [.integer(claim.number)] + lines.parameters
            + (place.map { [.column($0)] } ?? [])
    }
}

/// The columns of the contents.
private struct TextColumns {
    private var urgency: ArrayParameter
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
    private var saidAt: ArrayParameter

    init(of words: [NotificationText]) {
        let count = words.count
        urgency = ArrayParameter(.bigint, expecting: count)
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
        saidAt = ArrayParameter(.timestamptz, expecting: count)
        for words in words { append(words) }
    }

    private mutating func append(_ words: NotificationText) {
        let (content, extras) = (words.content, words.content.extras)
        urgency.append(content.priority.urgency)
        contentHash.append(bytes: words.contentHash.bytes)
        event.append(content.event.text)
        type.append(content.type.text)
        title.append(content.title)
        body.append(content.body)
        venue.append(content.venueID)
        web.append(content.link?.web)
        mobile.append(content.link?.mobile)
        scheme.append(content.link?.scheme)
        data.append(json: words.data)
        target.append(extras.targetID)
        metadata.append(json: words.metadata)
        self.extras.append(json: words.extras)
        collapseKey.append(extras.collapseKey)
        app.append(words.app.text)
        saidAt.append(instant: words.saidAt?.microseconds)
    }

    /// The columns, in the order of the statement.
    var columns: [ArrayParameter] {
        [
            urgency, contentHash, event, type, title, body, venue, web, mobile, scheme, data, target, metadata, extras,
            collapseKey, app, saidAt,
        ]
    }
}

/// The columns of the initial deliveries of a batch.
private struct LineColumns {
    private var person = ArrayParameter(.bigint)
    private var id = ArrayParameter(.bigint)
    private var target = ArrayParameter(.bigint)
    private var state = ArrayParameter(.text)
    private var reason = ArrayParameter(.text)
    private var dueAt = ArrayParameter(.timestamptz)
    private var decision = ArrayParameter(.jsonb)
    private var urgency = ArrayParameter(.bigint)

    mutating func append(_ line: NewDelivery, of record: InboxRecord) {
        person.append(record.key.recipient.number?.value)
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
