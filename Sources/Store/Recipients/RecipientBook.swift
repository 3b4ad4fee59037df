package import BellhopRules
import Glibc
package import Postgres

/// What is known of users, looked up for a whole batch at once.
package struct RecipientBook: Sendable {
    private let pool: PostgresPool

    package init(pool: PostgresPool) {
        self.pool = pool
    }

    /// One row each, in one round trip, whatever the size.
    ///
    /// The keys of the answer know the numbers of their users. A user of whom nothing is stored gets the defaults, and has
    /// no number.
    package func recipients(of keys: Set<RecipientKey>) async throws(PostgresError) -> [RecipientKey: Recipient] {
        guard !keys.isEmpty else { return [:] }
        let order = Array(keys)
        let rows = try await pool.run(Self.people, RecipientKey.parameters(order))
        var found: [RecipientKey: Recipient] = [:]
        found.reserveCapacity(order.count)
        var documents = PreferenceTexts()
        for row in rows.indices {
            guard let place = try rows.place(row, 0, in: order.indices) else { continue }
            var key = order[place]
            key.number = try rows.integer(row, 1)
            found[key] = try Recipient(rows, row, &documents)
        }
        guard found.count < order.count else { return found }
        for key in order where found[key] == nil { found[key] = Recipient() }
        return found
    }

    private static let people = Statement(
        """
        SELECT w.position, p.number, p.locale, p.timezone, p.push_enabled, p.email_enabled, p.email, p.preferences,
               p.devices
        FROM (
            SELECT generate_subscripts($1::text[], 1)::bigint AS position, unnest($1::text[]) AS app,
                   unnest($2::text[]) AS user_id
        ) AS w
        CROSS JOIN LATERAL (
            SELECT * FROM people WHERE user_id = w.user_id AND app = w.app OFFSET 0
        ) AS p
        """,
        effect: .reads
    )
}

/// The preference documents of one look-up, each text read once: most users of an app have said what many others said.
private struct PreferenceTexts {
    /// By the hashes of the texts: of two with one hash, the second is read each time.
    private var known: [Int: (text: [UInt8], preferences: Preferences?)] = [:]

    mutating func preferences(_ json: UnsafeRawBufferPointer) -> Preferences? {
        var hasher = Hasher()
        hasher.combine(bytes: json)
        let hash = hasher.finalize()
        if let (text, preferences) = known[hash] {
            return text.withUnsafeBytes({ Self.areSame($0, json) }) ? preferences : Self.read(json)
        }
        let preferences = Self.read(json)
        known[hash] = (Array(json), preferences)
        return preferences
    }

    private static func areSame(_ text: UnsafeRawBufferPointer, _ json: UnsafeRawBufferPointer) -> Bool {
        guard text.count == json.count, let start = text.baseAddress, let other = json.baseAddress else {
            return text.count == json.count
        }
        return memcmp(start, other, text.count) == 0
    }

    /// A document that cannot be read says nothing: the defaults hold.
    private static func read(_ json: UnsafeRawBufferPointer) -> Preferences? {
        guard case .success(.object(let document)) = JSONParser(limits: .event).parse(json) else { return nil }
        return Preferences(document)
    }
}

extension Recipient {
    /// From the columns of `RecipientBook.people`.
    fileprivate init(_ rows: Rows, _ row: Int, _ documents: inout PreferenceTexts) throws(PostgresError) {
        self.init()
        locale = try rows.optionalText(row, 2).flatMap(LanguageTag.init(validating:))
        timezone = try rows.optionalText(row, 3).flatMap(TimeZoneName.init(validating:))
        pushEnabled = try rows.boolean(row, 4)
        emailEnabled = try rows.boolean(row, 5)
        email = try rows.optionalText(row, 6).flatMap(EmailAddress.init(validating:))
        preferences = try rows.withBytes(row, 7) { documents.preferences($0) } ?? nil
        devices = try rows.withBytes(row, 8, Self.devices) ?? []
    }

    /// What is no device of ours is left out.
    ///
    /// Twenty devices stand at most, of some kilobytes each; whatever else got in beside the feeds hides none of them.
    private static func devices(_ json: UnsafeRawBufferPointer) -> [Device] {
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 8 << 20, depth: 64))
        guard case .success(.array(let entries)) = parser.parse(json) else { return [] }
        return entries.compactMap(Device.init(sheet:))
    }
}

extension Device {
    /// From an entry of `people.devices`; nil for one that no program of ours wrote.
    fileprivate init?(sheet entry: JSONValue) {
        guard let columns = entry.array, columns.count == 8, let subscription = columns[0].string,
            let token = columns[1].string.flatMap(DeviceToken.init(validating:)),
            let platform = columns[2].string.flatMap(DevicePlatform.init(rawValue:)),
            let provider = columns[3].string.flatMap(PushProvider.init(rawValue:))
        else { return nil }
        var keys: WebPushKeys?
        if case .object(let subscription) = columns[6] { keys = WebPushKeys(subscription: subscription) }
        self.init(
            subscription: subscription,
            token: token,
            platform: platform,
            provider: provider,
            permission: columns[4].string.flatMap(PushPermission.init(rawValue:)),
            environment: columns[5].string.flatMap(PushEnvironment.init(rawValue:)),
            webPushKeys: keys,
            wasReached: columns[7] == .bool(true)
        )
    }
}
