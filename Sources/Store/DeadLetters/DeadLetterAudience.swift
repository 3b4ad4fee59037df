import BellhopRules
import Foundation

/// The users that a message is for.
///
/// They are read even if the message is invalid otherwise, so that a rejected message can be found and removed when one
/// of them is erased.
///
/// A mention in the texts or data of another user's message belongs to that user. It is not found here, and erasure
/// does not remove it from that user's inbox either.
package struct DeadLetterAudience {
    /// Each user once, at most ``limit``.
    private(set) var people: [UserKey] = []
    /// The message's source timestamp; `nil` if absent.
    private(set) var saidAt: Timestamp?

    /// More users than a message may name.
    ///
    /// Users beyond the limit are not read.
    static let limit = 4096

    /// The user, if the message is for exactly one.
    var only: UserID? {
        let users = Set(people.map(\.user))
        return users.count == 1 ? users.first : nil
    }

    init(of item: DeadLetterItem) {
        // A routing key may be invalid as the message's app and still show where its users belong: a message that was
        // rejected because it named no app is for users, too.
        let named = item.origin.routingKey.split(separator: ".").first.map(String.init)
        self.init(item.origin.body, apps: [item.cause.app, named])
        saidAt = saidAt ?? Self.stamp(item.origin.properties)
        guard let delivery = item.delivery?.notification.recipient else { return }
        if !people.contains(delivery) { people.append(delivery) }
    }

    /// `apps` are the message's possible apps according to the dead letter; the body may name another.
    private init(_ body: [UInt8], apps: [String?]) {
        guard let root = Self.object(body) else {
            add(UnparsedUserIDs(in: body, atMost: Self.limit).users, of: apps)
            return
        }
        for list in Self.workLists {
            for entry in root[list]?.array ?? [] where people.count < Self.limit {
                guard let key = UserKey(workEntry: entry) else { continue }
                people.append(key)
            }
        }
        let fields = Self.fields(of: root)
        add(Self.users(in: fields), of: apps + [fields["app"]?.string])
        saidAt = (fields["sentAtIso"]?.string ?? root["time"]?.string).flatMap(Timestamp.init(validating:))
    }

    private mutating func add(_ users: [String], of apps: [String?]) {
        var known = Set(people)
        for app in Set(apps.compactMap { $0.flatMap(AppID.init(validating:)) }) {
            for user in users where people.count < Self.limit {
                guard let user = UserID(validating: user) else { continue }
                let key = UserKey(app: app, user: user)
                if known.insert(key).inserted { people.append(key) }
            }
        }
    }

    // MARK: - Removing users

    /// Returns the body without these users; `nil` if no user remains or the body cannot be rewritten.
    static func body(_ body: [UInt8], without erased: Set<UserKey>) -> [UInt8]? {
        guard var root = object(body) else { return nil }
        var isForSomebody = false
        var isWork = false
        for list in workLists {
            guard let entries = root[list]?.array else { continue }
            isWork = true
            let left = entries.filter { entry in UserKey(workEntry: entry).map { !erased.contains($0) } ?? true }
            if !left.isEmpty { isForSomebody = true }
            root[list] = .array(left)
        }
        guard isForSomebody || !isWork || root["to"] != nil else { return nil }
        let users = Set(erased.map(\.user.text))
        let isStructured = root["specversion"] != nil
        guard !isStructured || root["data"]?.object != nil else { return isForSomebody ? bytes(root) : nil }
        guard let fields = fields(of: root).without(users) else { return isForSomebody ? bytes(root) : nil }
        if isStructured { root["data"] = .object(fields) } else { root = fields }
        return bytes(root)
    }

    private static func bytes(_ object: JSONObject) -> [UInt8] { JSONWriter.canonicalBytes(of: .object(object)) }

    // MARK: - Reading

    /// The lists of users in internal messages: resumes, badges, receipts.
    ///
    /// An erasure finds the dead letters of an internal message only by these lists.
    package static let workLists = ["notifications", "badges", "deliveries"]

    /// Parses an object; `nil` also if the body is larger than any event may be, since its parsed form would be many
    /// times as large.
    private static func object(_ body: [UInt8]) -> JSONObject? {
        let limits = JSONParser.Limits(bytes: JSONParser.Limits.event.bytes, depth: JSONParser.Limits.event.depth + 1)
        return try? JSONParser(limits: limits).parse(body).get().object
    }

    /// Returns the members of an event or a feed message, which may be nested in the envelope.
    private static func fields(of root: JSONObject) -> JSONObject {
        guard root["specversion"] != nil else { return root }
        if let data = root["data"]?.object { return data }
        guard let text = root["data_base64"]?.string, let data = Data(base64Encoded: text) else { return JSONObject() }
        return object([UInt8](data)) ?? JSONObject()
    }

    private static func users(in fields: JSONObject) -> [String] {
        let to = fields["to"]
        let named = [fields["userId"]?.string, to?["user"]?.string].compactMap { $0 }
        return named + (to?["users"]?.array ?? []).compactMap(\.string)
    }

    /// The AMQP timestamp, as stored in the properties.
    private static func stamp(_ properties: [UInt8]) -> Timestamp? {
        object(properties)?["timestamp"]?["$timestamp"]?.string.flatMap { UInt64($0) }
            .flatMap(Timestamp.init(seconds:))
    }
}

extension JSONObject {
    /// Returns an event or a feed message without some of its users; `nil` if it was for no others.
    fileprivate func without(_ users: Set<String>) -> JSONObject? {
        if let user = self["userId"]?.string, users.contains(user) { return nil }
        guard var to = self["to"]?.object else { return self }
        if let user = to["user"]?.string, users.contains(user) { return nil }
        guard let list = to["users"]?.array else { return self }
        let left = list.filter { element in element.string.map { !users.contains($0) } ?? true }
        guard left.contains(where: { $0.string != nil }) else { return nil }
        to["users"] = .array(left)
        var rest = self
        rest["to"] = .object(to)
        return rest
    }
}

extension UserKey {
    /// Reads an entry of an internal message: an array that begins with app and user.
    fileprivate init?(workEntry: JSONValue) {
        guard let parts = workEntry.array, parts.count >= 2, let app = parts[0].string.flatMap(AppID.init(validating:)),
            let user = parts[1].string.flatMap(UserID.init(validating:))
        else { return nil }
        self.init(app: app, user: user)
    }
}

/// Finds the users named in a body that is not valid JSON, for example because it was cut: every string after one of
/// the keys that name users.
struct UnparsedUserIDs {
    private(set) var users: [String] = []

    init(in body: [UInt8], atMost limit: Int) {
        var place = body.startIndex
        while users.count < limit, let quote = body[place...].firstIndex(of: Self.quote) {
            guard let end = Self.end(of: quote, in: body) else { return }
            place = end
            guard Self.keys.contains(where: { body[(quote + 1)..<(end - 1)].elementsEqual($0.utf8) }) else { continue }
            var next = Self.skip(body, from: place, Self.blanks + [UInt8(ascii: ":")])
            let isList = body[next...].first == UInt8(ascii: "[")
            if isList { next += 1 }
            repeat {
                next = Self.skip(body, from: next, Self.blanks + (isList ? [UInt8(ascii: ",")] : []))
                guard body[next...].first == Self.quote, let end = Self.end(of: next, in: body) else { break }
                if let user = Self.text(body[next..<end]) { users.append(user) }
                next = end
                place = end
            } while isList && users.count < limit
        }
    }

    private static let keys = ["user", "users", "userId"]
    private static let quote = UInt8(ascii: "\"")
    private static let blanks = Array(" \t\r\n".utf8)

    private static func skip(_ body: [UInt8], from start: Int, _ wanted: [UInt8]) -> Int {
        body[start...].firstIndex { !wanted.contains($0) } ?? body.endIndex
    }

    /// Returns the position after the closing quote of the string that begins at `start`; `nil` if it has no end.
    private static func end(of start: Int, in body: [UInt8]) -> Int? {
        var place = start + 1
        while place < body.endIndex, body[place] != quote {
            place += body[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return place < body.endIndex ? place + 1 : nil
    }

    private static func text(_ literal: ArraySlice<UInt8>) -> String? {
        try? JSONParser(limits: .init(bytes: literal.count, depth: 1)).parse(Array(literal)).get().string
    }
}
