import BellhopJSON
import BellhopRules
import Cryptography
import HTTPServer
import Store

/// A user's reminders, at times of the user's own clock.
enum ReminderRoutes {
    /// Answers `GET /api/reminders`.
    static func list(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        let reminders = try await call.users.reminders(of: call.reader)
        return .object(["data": .array(reminders.map { json($0, call) })])
    }

    /// Answers `POST /api/reminders`.
    static func create(_ call: APIRequest) async throws -> HTTPResponse {
        var fields = try call.body(members)
        let id = "rem_" + Base64URL.encode(try SecureRandom.bytes(12))
        fields["id"] = .string(id)
        let (update, said) = try reminder(fields, call)
        let condition = Precondition.hasFewerReminders(than: mostReminders, beside: said.id)
        let most = "a user may have \(mostReminders) reminders, and some that have ended"
        try await call.say(update, where: condition, else: APIError(409, "too-many-reminders", most))
        return try await answer(said.id, status: 201, call)
    }

    /// Answers `PATCH /api/reminders/{id}`.
    ///
    /// Members that are absent stay unchanged.
    static func change(_ call: APIRequest) async throws -> HTTPResponse {
        let id: ReminderID = try call.place("id")
        let body = try call.body(members)
        // A concurrent change is preserved: the reminder is read again.
        for _ in 0..<attempts {
            guard let stored = try await find(id, call) else { throw unknown }
            var fields = Self.fields(stored)
            for member in body.members { fields[member.key] = member.value }
            let (update, _) = try reminder(fields, call)
            guard try await call.isHeard(update, where: .reminderStands(id, since: stored.saidAt)) else { continue }
            return try await answer(id, status: 200, call)
        }
        throw APIError(409, "changed-meanwhile", "the reminder was modified concurrently; retry")
    }

    /// Answers `DELETE /api/reminders/{id}`.
    static func remove(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        let id: ReminderID = try call.place("id")
        let update = try call.said(.reminderRemoved, ["id": .string(id.text)])
        try await call.say(update, where: .hasReminder(id), else: unknown)
        return .done
    }

    private static let members = ["localTime", "days", "timezone", "eventType", "title", "body"]
    private static let mostReminders = 50
    private static let attempts = 5
    private static let unknown = APIError(404, "unknown-reminder", "the user has no such reminder")

    private static func reminder(_ fields: JSONObject, _ call: APIRequest) throws -> (FeedUpdate, ReminderUpdate) {
        let update = try call.said(.reminderSet, fields)
        guard case .reminderSet(let said) = update.change else { throw unknown }
        try call.expectZone(said.timezone)
        guard let name = said.type ?? call.catalog.reminderType else {
            throw APIError.field("eventType", "required: the app's catalogue names no type for reminders")
        }
        guard let type = call.catalog[name] else {
            throw APIError.field("eventType", "the app's catalogue does not know this type")
        }
        // Reminders are never mailed, so a type that is mailed by default is not allowed.
        guard !type.emailByDefault else {
            throw APIError.field("eventType", "this type is mailed: choose another")
        }
        return (update, said)
    }

    private static func find(_ id: ReminderID, _ call: APIRequest) async throws -> UserReminder? {
        try await call.users.reminders(of: call.reader).first { $0.reminder.id == id }
    }

    private static func answer(_ id: ReminderID, status: Int, _ call: APIRequest) async throws -> HTTPResponse {
        guard let stored = try await find(id, call) else { throw unknown }
        return .json(JSONWriter.canonicalBytes(of: json(stored, call)), status: status)
    }

    /// Returns the reminder in the form of a feed message.
    private static func fields(_ stored: UserReminder) -> JSONObject {
        let reminder = stored.reminder
        // An empty set means all days, as in a feed message without days.
        let named = Weekday.allCases.filter(reminder.days.contains)
        let days = (named.isEmpty ? Weekday.allCases : named).map { JSONValue.string($0.rawValue) }
        return [
            "id": .string(reminder.id.text), "localTime": .string(reminder.localTime.description),
            "days": .array(days), "timezone": .optional(stored.timezone?.text),
            "eventType": .optional(reminder.type?.text), "title": .string(reminder.title),
            "body": .string(reminder.body),
        ]
    }

    private static func json(_ stored: UserReminder, _ call: APIRequest) -> JSONValue {
        var object = fields(stored)
        object["nextFireAt"] = .optional(nextRing(stored.reminder, call)?.inMilliseconds)
        return .object(object)
    }

    /// Returns the next time, by the same rule that the scheduler uses.
    private static func nextRing(_ reminder: Reminder, _ call: APIRequest) -> Timestamp? {
        guard let zone = call.zone(reminder.timezone) else { return nil }
        let firing = ReminderFiring(at: reminder.localTime, on: reminder.days, in: zone)
        let verdict = firing.verdict(at: call.now, since: reminder.plannedFrom, lastDate: reminder.lastFiredOn)
        switch verdict {
        case .fire(let slot), .wait(let slot): return slot.instant
        case .never: return nil
        }
    }
}
