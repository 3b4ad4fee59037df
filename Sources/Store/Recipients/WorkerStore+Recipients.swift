package import BellhopRules
import Glibc
package import Postgres
package import ServiceRuntime
import Synchronization

extension WorkerStore {
    /// Returns the stored data of each user, in one round trip for any number of users.
    ///
    /// The returned keys contain the users' numbers. A user without stored data has the defaults and no number.
    package func recipients(of keys: [UserKey]) async throws(PostgresError) -> [UserKey: Recipient] {
        guard !keys.isEmpty else { return [:] }
        let rows = try await pool.run(Self.people, UserKey.parameters(keys))
        var found: [UserKey: Recipient] = [:]
        found.reserveCapacity(keys.count)
        let reader = RecipientDecoder()
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: keys.indices) else { continue }
            var key = keys[place]
            let recipient = try reader.read(rows, row, from: 1, numbering: &key)
            found[key] = recipient
        }
        guard found.count < keys.count else { return found }
        for key in keys where found[key] == nil { found[key] = Recipient() }
        return found
    }

    private static let people = Statement(
        """
        SELECT w.position, \(RecipientDecoder.columns(of: "p"))
        FROM (
            SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                   unnest($2::text[]) AS user_id
        ) AS w
        CROSS JOIN LATERAL \(UserKey.row(of: "w")) AS p
        """,
        effect: .reads
    )
}

/// Reads users from the rows of one result, for any statement that selects their columns.
struct RecipientDecoder {
    private static let documents = PreferenceCache()

    private static let names = [
        "number", "locale", "timezone", "push_enabled", "email_enabled", "email", "preferences", "devices", "reached",
    ]

    /// The number of columns of a user.
    static let width = names.count

    /// The columns that ``read(_:_:from:numbering:)`` reads, from a row of `people` with this name.
    static func columns(of row: String) -> String {
        names.map { "\(row).\($0)" }.joined(separator: ", ")
    }

    /// Reads a user from ``columns(of:)``, beginning at `column`, and sets the number in the key.
    ///
    /// Missing values have their defaults.
    func read(
        _ rows: Rows,
        _ row: Int,
        from column: Int,
        numbering key: inout UserKey
    ) throws(PostgresError) -> Recipient {
        key.number = try rows.optionalPersonNumber(row, .index(column))
        var recipient = Recipient()
        if key.number != nil { try recipient.read(rows, row, from: column + 1, Self.documents) }
        return recipient
    }
}

/// The latest preference documents, each text parsed once, since many users of an app have the same document.
///
/// Thread safety: the documents are behind a lock.
private final class PreferenceCache: Sendable {
    private final class Document: Sendable {
        let text: [UInt8]
        let preferences: Preferences?

        init(_ text: [UInt8], _ preferences: Preferences?) {
            self.text = text
            self.preferences = preferences
        }
    }

    /// The parsed documents by the hashes of their texts.
    ///
    /// If two texts have one hash, the second is parsed each time.
    private let known = Mutex<[Int: Document]>([:])

    /// The number of documents above which all are forgotten.
    private static let most = 256
    /// The longest document that is kept, in bytes.
    private static let longest = 4096

    func preferences(_ json: UnsafeRawBufferPointer) -> Preferences? {
        var hasher = Hasher()
        hasher.combine(bytes: json)
        let hash = hasher.finalize()
        let document = known.withLock { $0[hash] }
        if let document, document.text.withUnsafeBytes({ Self.areSame($0, json) }) { return document.preferences }
        let preferences = Self.read(json)
        if document == nil, json.count <= Self.longest {
            let document = Document(Array(json), preferences)
            known.withLock { known in
                if known.count >= Self.most { known.removeAll() }
                known[hash] = document
            }
        }
        return preferences
    }

    private static func areSame(_ text: UnsafeRawBufferPointer, _ json: UnsafeRawBufferPointer) -> Bool {
        guard text.count == json.count, let start = text.baseAddress, let other = json.baseAddress else {
            return text.count == json.count
        }
        return memcmp(start, other, text.count) == 0
    }

    /// Parses a document.
    ///
    /// An unreadable document is ignored, so that the defaults apply.
    private static func read(_ json: UnsafeRawBufferPointer) -> Preferences? {
        guard case .success(.object(let document)) = JSONParser(limits: .event).parse(json) else { return nil }
        return Preferences(document)
    }
}

extension Recipient {
    /// Reads the columns after the number.
    fileprivate mutating func read(
        _ rows: Rows,
        _ row: Int,
        from column: Int,
        _ documents: PreferenceCache
    ) throws(PostgresError) {
        locale = try rows.optionalText(row, .index(column)).flatMap(LanguageTag.init(validating:))
        timezone = try rows.optionalText(row, .index(column + 1)).flatMap(TimeZoneName.init(validating:))
        pushEnabled = try rows.boolean(row, .index(column + 2))
        emailEnabled = try rows.boolean(row, .index(column + 3))
        email = try rows.optionalText(row, .index(column + 4)).flatMap(EmailAddress.init(validating:))
        preferences = try rows.withBytes(row, .index(column + 5)) { documents.preferences($0) } ?? nil
        devices = try rows.withBytes(row, .index(column + 6), Device.list) ?? []
        if !devices.isEmpty { try rows.withBytes(row, .index(column + 7)) { note(reached: $0) } }
    }

    /// Notes the devices whose marks are among these, which have one length and are separated by spaces.
    private mutating func note(reached marks: UnsafeRawBufferPointer) {
        guard let first = marks.baseAddress else { return }
        for index in devices.indices {
            guard var mark = devices[index].mark else { continue }
            devices[index].wasReached = mark.withUTF8 { mark in
                guard let wanted = mark.baseAddress, !mark.isEmpty, mark.count <= marks.count else { return false }
                return stride(from: 0, through: marks.count - mark.count, by: mark.count + 1)
                    .contains { memcmp(first + $0, wanted, mark.count) == 0 }
            }
        }
    }
}

extension MetricsRegistry {
    /// The counter for all readers of preference documents: a worker that processes feed messages, and the API.
    package var preferenceFallbacks: LabelledMetric<Counter> {
        counter(
            "bellhop_preference_fallbacks_total",
            help: "Preference documents that had to be completed, clamped or trimmed.",
            labels: ["app"]
        )
    }
}
