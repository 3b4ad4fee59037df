import BellhopJSON
import BellhopRules
import HTTPServer
import Store

/// Answers `PATCH /api/notifications`.
enum NotificationUpdateRoute {
    /// The states that a user can set, by their names on the wire.
    enum State: String, CaseIterable {
        case seen, read, unread, archived, unarchived, snoozed
    }

    static func mark(_ call: APIRequest) async throws -> HTTPResponse {
        let body = try call.body(["notificationIds", "all", "state", "until", "localTime"])
        let state = try state(body)
        let ids = try ids(body)
        let mark = try await mark(state, body, call)
        let updated: Int
        if let ids {
            // A token from before an erasure must be rejected here as well.
            if ids.isEmpty { try await call.users.admit(call.reader) }
            updated = ids.isEmpty ? 0 : try await call.users.mark(ids, as: mark, of: call.reader)
        } else {
            guard state != .snoozed else { throw APIError.field("all", "only named notifications can be snoozed") }
            if let wait = call.tools.wholeInboxes.wait(for: call.reader, at: call.tools.time.steady()) {
                throw APIError.tooMany(wait)
            }
            updated = try await call.users.markAll(as: mark, of: call.reader)
        }
        if updated > 0 { call.tools.live.changed(call.reader) }
        return .object(["updated": .number(updated)])
    }

    private static func state(_ body: JSONObject) throws(APIError) -> State {
        guard let value = body["state"] else { return .read }
        guard let state = value.string.flatMap(State.init(rawValue:)) else {
            throw .field("state", "expected \(JSONScope.oneOf(State.self))")
        }
        return state
    }

    /// Returns the ids, or `nil` for all notifications.
    private static func ids(_ body: JSONObject) throws(APIError) -> [NotificationID]? {
        switch (body["notificationIds"], body["all"]) {
        case (nil, .bool(true)?): return nil
        case (.array(let values)?, nil):
            guard values.count <= mostIDs else { throw .field("notificationIds", "expected at most \(mostIDs)") }
            var ids: [NotificationID] = []
            for (index, value) in values.enumerated() {
                guard let id = value.string.flatMap(NotificationID.init(validating:)) else {
                    throw .field("notificationIds/\(index)", "expected noti_ and 16 hexadecimal digits")
                }
                ids.append(id)
            }
            return ids
        case (nil, .some): throw .field("all", "expected true")
        case (.some, nil): throw .field("notificationIds", "expected a list of ids")
        case (nil, nil): throw .field("notificationIds", "expected a list of ids, or all in place of it")
        case (.some, .some): throw .field("all", "expected either ids or all")
        }
    }

    private static func mark(_ state: State, _ body: JSONObject, _ call: APIRequest) async throws -> InboxAction {
        guard state == .snoozed else {
            if let stray = ["until", "localTime"].first(where: { body[$0] != nil }) {
                throw APIError.field(stray, "only valid with state snoozed")
            }
            switch state {
            case .seen: return .seen
            case .read, .snoozed: return .read
            case .unread: return .unread
            case .archived: return .archived
            case .unarchived: return .unarchived
            }
        }
        return .snoozed(until: try await wakeUp(body, call))
    }

    private static func wakeUp(_ body: JSONObject, _ call: APIRequest) async throws -> Timestamp {
        let latest = Timestamp(clamping: call.now.microseconds + longestSnooze)
        switch (body["until"], body["localTime"]) {
        case (let value?, nil):
            guard let until = value.string.flatMap(Timestamp.init(validating:)), until > call.now, until <= latest
            else {
                throw APIError.field("until", "expected a future instant, at most a year ahead: \(Timestamp.rule)")
            }
            return until
        case (nil, let value?):
            guard let time = value.string.flatMap(LocalTime.init(validating:)) else {
                throw APIError.field("localTime", "expected \(LocalTime.rule)")
            }
            let own = try await call.users.settings(of: call.reader).timezone
            guard let zone = call.zone(own), let slot = LocalSchedule(at: time, in: zone).next(after: call.now) else {
                throw APIError.field("localTime", "no such local time in the future")
            }
            return slot.instant
        default: throw APIError.field("until", "expected either until or localTime")
        }
    }

    private static let mostIDs = 100
    /// A year, in microseconds.
    private static let longestSnooze: Int64 = 366 * 86_400 * 1_000_000
}

extension APIRequest {
    /// Returns the zone with this name, or else the app's.
    func zone(_ name: TimeZoneName?) -> Zone? {
        name.flatMap { tools.zones[$0] } ?? tools.zones[catalog.timezone]
    }

    /// Rejects an unknown zone.
    func expectZone(_ name: TimeZoneName?) throws(APIError) {
        guard let name, tools.zones[name] == nil else { return }
        throw .field("timezone", "expected a name of the tz database, such as Europe/Oslo")
    }
}
