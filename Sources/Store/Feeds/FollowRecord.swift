import BellhopRules

/// All that is known of one follow: what it says, and when each part of it was said.
///
/// Each part (whether all devices follow, whether one does, the role, the silence) goes by its own latest word, so that
/// partial words end the same in whatever order they arrive. An end without a device is the latest word about every
/// part: whoever follows again begins anew.
struct FollowRecord: Hashable, Sendable {
    private(set) var role: FollowRole?
    private(set) var isMuted = false
    /// When the present follow began, by its source's words as they came in.
    private(set) var since: Timestamp
    /// When it ended; nil while it stands.
    private(set) var removedAt: Timestamp?
    /// When anything was last said.
    private(set) var saidAt: Timestamp
    private(set) var wholeSaidAt: Timestamp?
    private(set) var roleSaidAt: Timestamp?
    private(set) var mutedSaidAt: Timestamp?
    private(set) var endSaidAt: Timestamp?
    /// By the hashes of the devices' tokens.
    private(set) var parts: [String: Part]
    private var isWhole: Bool

    /// Whether one device follows.
    struct Part: Hashable, Sendable {
        let follows: Bool
        let saidAt: Timestamp
    }

    /// Nothing has been said yet; `instant` is that of the first word.
    init(at instant: Timestamp) {
        since = instant
        removedAt = instant
        saidAt = instant
        parts = [:]
        isWhole = false
    }

    /// The hashes of the devices that follow by themselves; nil where all do.
    var devices: [String]? {
        isWhole ? nil : parts.filter(\.value.follows).map(\.key).sorted()
    }

    /// Of two words about a part the later one counts; of two of one time the one that is heard last.
    mutating func hear(_ word: FollowWord, at instant: Timestamp) {
        let stood = removedAt == nil
        if word.isEnd, word.device == nil { end(instant) } else { hear(partOf: word, instant) }
        Self.hear(word.role, instant, &roleSaidAt) { role = $0 }
        Self.hear(word.muted, instant, &mutedSaidAt) { isMuted = $0 ?? false }
        forgetOldest()
        saidAt = max(saidAt, instant)
        let stands = isWhole || parts.values.contains(where: \.follows)
        removedAt = stands ? nil : ([wholeSaidAt, endSaidAt] + parts.values.map(\.saidAt)).compactMap { $0 }.max()
        if stands, !stood { since = instant }
    }

    private mutating func hear(partOf word: FollowWord, _ instant: Timestamp) {
        guard let device = word.device else {
            guard wholeSaidAt.map({ $0 <= instant }) ?? true else { return }
            (isWhole, wholeSaidAt) = (true, instant)
            return
        }
        let latest = [parts[device]?.saidAt, endSaidAt].compactMap { $0 }.max()
        guard latest.map({ $0 <= instant }) ?? true else { return }
        parts[device] = Part(follows: !word.isEnd, saidAt: instant)
    }

    private mutating func end(_ instant: Timestamp) {
        if wholeSaidAt.map({ $0 <= instant }) ?? true { (isWhole, wholeSaidAt) = (false, instant) }
        if roleSaidAt.map({ $0 <= instant }) ?? true { (role, roleSaidAt) = (nil, instant) }
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

    /// Twice as many devices as may stand for a user: what no device speaks of any more must not pile up.
    private mutating func forgetOldest() {
        let most = 2 * SubscriptionFeed.mostDevices
        guard parts.count > most else { return }
        let newest = parts.sorted { ($0.value.saidAt, $0.key) > ($1.value.saidAt, $1.key) }.prefix(most)
        parts = Dictionary(newest.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
}

extension FollowRecord {
    /// As it is stored; a follow that was written without account of its parts gives way to any word about one.
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

    /// JSON text: `{"<hash>": [microseconds, follows]}`; nil where no device is named.
    var partsJSON: [UInt8]? {
        guard !parts.isEmpty else { return nil }
        var object = JSONObject()
        for (device, part) in parts.sorted(by: { $0.key < $1.key }) {
            object[device] = [.number(JSONNumber(part.saidAt.microseconds)), .bool(part.follows)]
        }
        return object.jsonBytes
    }

    /// JSON text; nil where all devices follow.
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
