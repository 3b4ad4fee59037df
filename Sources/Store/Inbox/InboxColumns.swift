import BellhopRules
import Postgres

/// The statement that records a batch, and its parameters, both made from the same tables of columns.
///
/// They are the largest parameters that a worker sends, and every batch has them.
///
/// If many records share a few contents, as on a page of a fan-out, each content is sent once and each record refers to
/// it.
struct InboxColumns {
    private var records: ColumnValues<InboxRecord>
    private var texts: ColumnValues<NotificationText>
    private var deliveries: ColumnValues<RecordedDelivery>
    /// The index of each record's content, counted from one; `nil` if each record has separate content.
    private var place: ArrayParameter?

    /// Creates the columns of records whose users have numbers and whose ids are unique.
    ///
    /// Without `sharing`, each record has separate content.
    init(of batch: [InboxRecord], sharing: Bool = true) {
        records = ColumnValues(Self.records, expecting: batch.count)
        deliveries = ColumnValues(Self.deliveries, expecting: 0)
        let shared = sharing ? Self.shared(by: batch) : nil
        texts = ColumnValues(Self.texts, expecting: shared?.count ?? batch.count)
        place = shared.map { _ in ArrayParameter(.bigint, expecting: batch.count) }
        if let shared { for text in shared { texts.append(text) } }
        for record in batch {
            records.append(record)
            for line in record.deliveries where !line.isUnsent {
                deliveries.append(RecordedDelivery(line: line, of: record))
            }
            if let shared {
                if let index = shared.firstIndex(where: { $0 === record.words }) { place?.append(Int64(index + 1)) }
            } else {
                texts.append(record.words)
            }
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

    var statement: Statement { place == nil ? Self.record : Self.recordAlike }

    /// The parameters, in the order of the statement.
    func parameters(_ claim: Claim) -> [Parameter] {
        records.parameters + texts.parameters + [.integer(claim.number)] + deliveries.parameters
            + (place.map { [.column($0)] } ?? [])
    }

    /// The parameters of ``history``, for records without sharing.
    func parameters(readAt: [Timestamp?]) -> [Parameter] {
        records.parameters + texts.parameters + [.instantArray(readAt.map { $0?.microseconds })]
    }
}

/// An initial delivery with the columns of its record.
private struct RecordedDelivery {
    let line: NewDelivery
    let person: Int64?
    let id: Int64
    let urgency: Int64

    init(line: NewDelivery, of record: InboxRecord) {
        self.line = line
        person = record.key.recipient.number?.value
        id = record.id.number
        urgency = record.words.content.priority.urgency
    }
}

extension InboxRecord {
    /// The delivery that has no destination, if the record has one.
    fileprivate var unsent: NewDelivery? {
        // An element that is passed to a closure is a copy.
        deliveries.indices.last { deliveries[$0].isUnsent }.map { deliveries[$0] }
    }
}

extension ArrayParameter {
    /// Appends a text of a notification.
    fileprivate mutating func append(_ content: NotificationContent, _ field: NotificationTexts.Field) {
        content.texts.with(field) { append(utf8: $0) }
    }
}

// MARK: - The columns

extension InboxColumns {
    private static let records = ColumnTable<InboxRecord>(
        first: 1,
        columns: [
            .init("person", .bigint) { $0.append($1.key.recipient.number?.value) },
            .init("id", .bigint) { $0.append($1.id.number) },
            .init("position", .bigint) { $0.append(Int64($1.position)) },
            .init("unsent", .text, width: 1) { $0.append($1.unsent?.state.letter) },
            .init("unsent_reason", .text, width: 2) { $0.append($1.unsent?.reason) },
            .init("subject_hash", .bytea, width: 16) {
                $0.append(IdentityHash.recipient($1.app, $1.user).half)
            },
        ]
    )

    private static let texts = ColumnTable<NotificationText>(
        first: records.next,
        columns: [
            .init("urgency", .bigint) { $0.append($1.content.priority.urgency) },
            .init("content_hash", .bytea, width: 16) { $0.append($1.contentHash.half) },
            .init("event_id", .text, width: 32) { $0.append($1.content, .event) },
            .init("type", .text, width: 20) { $0.append($1.content.type.text) },
            .init("title", .text, width: 32) { $0.append($1.content, .title) },
            .init("body", .text, width: 64) { $0.append($1.content, .body) },
            .init("venue_id", .text, width: 2) { $0.append($1.content, .venueID) },
            .init("link_web", .text, width: 32) { $0.append($1.content, .webLink) },
            .init("link_mobile", .text, width: 32) { $0.append($1.content, .mobileLink) },
            .init("link_scheme", .text, width: 32) { $0.append($1.content, .schemeLink) },
            .init("data", .text, width: 96) { $0.append($1.content, .data) },
            .init("target_id", .text, width: 16) { $0.append($1.content, .targetID) },
            .init("metadata", .text, width: 32) { $0.append($1.content, .metadata) },
            .init("extras", .text, width: 2) { $0.append(json: $1.extras) },
            .init("collapse_key", .text, width: 2) { $0.append($1.content, .collapseKey) },
            .init("app", .text) { $0.append($1.app.text) },
            .init("said_at", .timestamptz) { $0.append(instant: $1.saidAt?.microseconds) },
        ]
    )

    /// The number of the parameter with the batch's claim.
    private static let claim = texts.next

    private static let deliveries = ColumnTable<RecordedDelivery>(
        first: claim + 1,
        columns: [
            .init("person", .bigint) { $0.append($1.person) },
            .init("id", .bigint) { $0.append($1.id) },
            .init("target", .bigint) { $0.append(TargetNumber.number(of: $1.line.target)) },
            .init("state", .text) { $0.append($1.line.state.letter) },
            .init("reason", .text) { $0.append($1.line.reason) },
            .init("due_at", .timestamptz) { $0.append(instant: $1.line.wait?.until.microseconds) },
            .init("decision", .jsonb) { $0.append(json: $1.line.wait?.json) },
            .init("urgency", .bigint) { $0.append($1.urgency) },
        ]
    )

    /// The number of the parameter with the index of each record's content.
    private static let place = deliveries.next
}

// MARK: - The statement

extension InboxColumns {
    /// Writes records with separate contents.
    ///
    /// Arrays are unnested in a select list, since the server then returns their elements one by one. A function in
    /// `FROM` would first materialise all of them.
    private static let record = recording(
        """
        SELECT \(records.selection()), \(texts.selection())
        """
    )

    /// Writes records that share a few contents.
    private static let recordAlike = recording(
        """
        SELECT own.*, \(texts.selection { "(\($0))[own.words]" })
        FROM (SELECT \(records.selection()), unnest($\(place)::bigint[]) AS words) AS own
        """
    )

    /// Writes notifications of another system, without deliveries and with the times at which they were said and read.
    static let history = Statement(
        """
        INSERT INTO inbox (person, id, created_at, read_at, seen_at, \(texts.names(except: ["app"])))
        SELECT r.person, r.id, coalesce(r.said_at, now()), r.read_at, r.read_at, \(texts.names(of: "r", except: ["app"]))
        FROM (
            SELECT \(records.selection()), \(texts.selection()), unnest($\(texts.next)::timestamptz[]) AS read_at
        ) AS r
        WHERE \(isAdmitted)
        ON CONFLICT (person, id) DO NOTHING
        RETURNING id
        """
    )

    /// The condition that the user of `r` was not erased since, and that the number did not end with an erasure.
    private static let isAdmitted = """
        NOT EXISTS (
            SELECT FROM tombstones t
            WHERE t.app = r.app AND t.subject_hash = r.subject_hash
              AND (\(ErasedUsers.isOlder)
                   OR NOT EXISTS (SELECT FROM people p WHERE p.number = r.person FOR KEY SHARE))
            OFFSET 0
        )
        """

    /// Inserts deliveries for new notifications only: inserting a `sending` delivery gives the right to send it.
    ///
    /// A delivery that became due while the batch was delayed is due now, since a poll may not search further back.
    /// Nothing is written for a user who has been erased since, nor under a number that ended with an erasure. An
    /// erasure that is about to end a number waits for this statement.
    private static func recording(_ source: String) -> Statement {
        Statement(
            """
            WITH recorded AS (
                INSERT INTO inbox (person, id, created_at, unsent, unsent_reason, \(texts.names(except: ["app"])))
                SELECT r.person, r.id, now() + r.position * interval '1 us', r.unsent::"char", r.unsent_reason,
                       \(texts.names(of: "r", except: ["app"]))
                FROM (\(source)) AS r
                WHERE \(isAdmitted)
                ON CONFLICT (person, id) DO NOTHING
                RETURNING person, id
            ), opened AS (
                INSERT INTO ledger (person, id, target, state, reason, claim, due_at, decision, urgency)
                SELECT n.person, n.id, d.target, d.state::"char", d.reason,
                       CASE WHEN d.state = \(DeliveryState.sending.sql) THEN $\(claim)::bigint END,
                       CASE WHEN d.due_at IS NOT NULL THEN greatest(d.due_at, now()) END, d.decision, d.urgency
                FROM (SELECT \(deliveries.selection())) AS d
                JOIN recorded n ON n.id = d.id AND n.person = d.person
            )
            SELECT id FROM recorded
            """
        )
    }
}
