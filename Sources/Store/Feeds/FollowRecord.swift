import BellhopRules

/// The complete state of one follow, with the timestamp of each part.
///
/// Each part (all devices, a single device, the role, the mute) is set by its own latest update. Partial updates
/// therefore give the same result in any order of arrival. An end without a device is the latest update of every part:
/// a later follow begins with defaults. If the user's client ended it, the role stays for a later follow.
struct FollowRecord: Hashable, Sendable {
    private(set) var role: FollowRole?
    private(set) var isMuted = false
    /// When the current follow began, by the source timestamps in the order of arrival.
    private(set) var since: Timestamp
    /// When it ended; `nil` while it exists.
    private(set) var removedAt: Timestamp?
    /// The latest timestamp of any update.
    private(set) var saidAt: Timestamp
    private(set) var wholeSaidAt: Timestamp?
    private(set) var roleSaidAt: Timestamp?
    private(set) var mutedSaidAt: Timestamp?
    private(set) var endSaidAt: Timestamp?
    /// The parts of single devices, by the hashes of their tokens.
    private(set) var parts: [String: Part]
    private var isWhole: Bool

    /// Whether one device follows.
    struct Part: Hashable, Sendable {
        let follows: Bool
        let saidAt: Timestamp
    }

    /// Creates a record without updates; `instant` is the time of the first one.
    init(at instant: Timestamp) {
        since = instant
        removedAt = instant
        saidAt = instant
        parts = [:]
        isWhole = false
    }

    /// The hashes of the devices that follow individually; `nil` if all devices follow.
    var devices: [String]? {
        isWhole ? nil : parts.filter(\.value.follows).map(\.key).sorted()
    }

    /// Applies an update.
    ///
    /// Of two updates of a part the newer one wins; with equal timestamps the last to arrive wins.
    mutating func hear(_ word: FollowUpdateRow, at instant: Timestamp) {
        let stood = removedAt == nil
        if word.isEnd, word.device == nil { end(instant, endsRole: word.endsRole) } else { hear(partOf: word, instant) }
        Self.hear(word.role, instant, &roleSaidAt) { role = $0 }
        Self.hear(word.muted, instant, &mutedSaidAt) { isMuted = $0 ?? false }
        forgetOldest()
        saidAt = max(saidAt, instant)
        let stands = isWhole || parts.values.contains(where: \.follows)
        removedAt = stands ? nil : ([wholeSaidAt, endSaidAt] + parts.values.map(\.saidAt)).compactMap { $0 }.max()
        if stands, !stood { since = instant }
    }

    private mutating func hear(partOf word: FollowUpdateRow, _ instant: Timestamp) {
        guard let device = word.device else {
            guard wholeSaidAt.map({ $0 <= instant }) ?? true else { return }
            (isWhole, wholeSaidAt) = (true, instant)
            return
        }
        let latest = [parts[device]?.saidAt, endSaidAt].compactMap { $0 }.max()
        guard latest.map({ $0 <= instant }) ?? true else { return }
        parts[device] = Part(follows: !word.isEnd, saidAt: instant)
    }

    private mutating func end(_ instant: Timestamp, endsRole: Bool) {
        if wholeSaidAt.map({ $0 <= instant }) ?? true { (isWhole, wholeSaidAt) = (false, instant) }
        if endsRole, roleSaidAt.map({ $0 <= instant }) ?? true { (role, roleSaidAt) = (nil, instant) }
        if mutedSaidAt.map({ $0 <= instant }) ?? true { (isMuted, mutedSaidAt) = (false, instant) }
        parts = parts.filter { $0.value.saidAt > instant }
        endSaidAt = endSaidAt.map { max($0, instant) } ?? instant
    }

    private static func hear<Value>(
        _ update: FieldUpdate<Value>,
        _ instant: Timestamp,
        _ saidAt: inout Timestamp?,
        _ set: (Value?) -> Void
    ) {
        guard update.isGiven, saidAt.map({ $0 <= instant }) ?? true else { return }
        set(update.value)
        saidAt = instant
    }

    /// Keeps twice the maximum number of a user's devices, so that entries of unused devices do not accumulate.
    private mutating func forgetOldest() {
        let most = 2 * SubscriptionFeed.mostDevices
        guard parts.count > most else { return }
        let newest = parts.sorted { ($0.value.saidAt, $0.key) > ($1.value.saidAt, $1.key) }.prefix(most)
        parts = Dictionary(newest.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}

extension FollowRecord {
    /// Creates a record from a stored row.
    ///
    /// A follow stored without timestamps of its parts is replaced by any update of a part.
    init(_ stored: Stored) {
        role = stored.follow.role
        isMuted = stored.follow.isMuted
        since = stored.since
        removedAt = stored.removedAt
        saidAt = stored.saidAt
        wholeSaidAt = stored.wholeSaidAt
        roleSaidAt = stored.roleSaidAt
        mutedSaidAt = stored.mutedSaidAt
        endSaidAt = stored.endSaidAt
        parts = Self.parts(stored.parts)
        isWhole = stored.removedAt == nil && stored.follow.devices == nil
    }

    /// The columns of a row.
    struct Stored {
        let follow: StoredFollow
        let since: Timestamp
        let removedAt: Timestamp?
        let saidAt: Timestamp
        let wholeSaidAt: Timestamp?
        let roleSaidAt: Timestamp?
        let mutedSaidAt: Timestamp?
        let endSaidAt: Timestamp?
        let parts: [UInt8]?
    }

    /// JSON text, `{"<hash>": [microseconds, follows]}`; `nil` if no device is named.
    var partsJSON: [UInt8]? {
        guard !parts.isEmpty else { return nil }
        var object = JSONObject()
        for (device, part) in parts.sorted(by: { $0.key < $1.key }) {
            object[device] = [.number(JSONNumber(part.saidAt.microseconds)), .bool(part.follows)]
        }
        return object.canonicalBytes
    }

    /// JSON text; `nil` if all devices follow.
    var devicesJSON: [UInt8]? {
        devices.map { JSONWriter.canonicalBytes(of: .array($0.map(JSONValue.string))) }
    }

    private static func parts(_ json: [UInt8]?) -> [String: Part] {
        guard let json, case .success(.object(let object)) = JSONParser(limits: .event).parse(json) else { return [:] }
        var parts: [String: Part] = [:]
        for member in object.members {
            guard let entry = member.value.array, entry.count == 2, let instant = entry[0].number?.int64,
                let follows = entry[1].bool
            else { continue }
            parts[member.key] = Part(follows: follows, saidAt: Timestamp(clamping: instant))
        }
        return parts
    }
}
