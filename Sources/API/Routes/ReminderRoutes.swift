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
        let (update, said) = try reminder(fields, call, of: try await zone(fields, call))
        try await call.say(update, where: .lacksReminder(said.id, fewerThan: mostReminders), else: tooMany)
        return try await answer(said.id, status: 201, call)
    }

    /// Answers `PUT /api/reminders/{id}`, which may be repeated: the client chooses the id.
    static func put(_ call: APIRequest) async throws -> HTTPResponse {
        let id: ReminderID = try call.place("id")
        var fields = try call.body(members)
        fields["id"] = .string(id.text)
        for _ in 0..<attempts {
            let stored = try await find(id, call)
            if let stored, isStored(fields, stored, call) { return try await answer(id, status: 200, call) }
            let (update, _) = try reminder(fields, call, of: try await zone(fields, call))
            let condition: Precondition =
                stored.map { .reminderStands(id, since: $0.saidAt) } ?? .lacksReminder(id, fewerThan: mostReminders)
            if try await call.isHeard(update, where: condition) {
                return try await answer(id, status: stored == nil ? 201 : 200, call)
            }
            if stored == nil, try await find(id, call) == nil { throw tooMany }
        }
        throw changedMeanwhile
    }

    /// Answers `PATCH /api/reminders/{id}`.
    ///
    /// Members that are absent stay unchanged. A date takes the place of days, and the reverse.
    static func change(_ call: APIRequest) async throws -> HTTPResponse {
        let id: ReminderID = try call.place("id")
        let body = try call.body(members)
        // A concurrent change is preserved: the reminder is read again.
        for _ in 0..<attempts {
            guard let stored = try await find(id, call) else { throw unknown }
            var fields = Self.fields(stored)
            for (member, other) in [("on", "days"), ("days", "on")] where (body[member] ?? .null) != .null {
                fields[other] = .null
            }
            for member in body.members { fields[member.key] = member.value }
            let (update, _) = try reminder(fields, call, of: try await zone(fields, call))
            guard try await call.isHeard(update, where: .reminderStands(id, since: stored.saidAt)) else { continue }
            return try await answer(id, status: 200, call)
        }
        throw changedMeanwhile
    }

    /// Answers `DELETE /api/reminders/{id}`.
    static func remove(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        let id: ReminderID = try call.place("id")
        let update = try call.said(.reminderRemoved, ["id": .string(id.text)])
        try await call.say(update, where: .hasReminder(id), else: unknown)
        return .done
    }

    private static let members = ["localTime", "days", "on", "timezone", "eventType", "title", "body"]
    private static let mostReminders = 50
    private static let attempts = 5
    private static let unknown = APIError(404, "unknown-reminder", "the user has no such reminder")

    private static let tooMany = APIError(
        409,
        "too-many-reminders",
        "a user may have \(mostReminders) reminders, and some that have ended"
    )
    private static let changedMeanwhile = APIError(
        409,
        "changed-meanwhile",
        "the reminder was modified concurrently; retry"
    )

    /// Returns the zone of a reminder that is about to be written: its own, or else the user's; `nil` for the app's.
    private static func zone(_ fields: JSONObject, _ call: APIRequest) async throws -> TimeZoneName? {
        // An invalid name is rejected later, with its field.
        if let own = fields["timezone"]?.string { return TimeZoneName(validating: own) }
        return try await call.users.settings(of: call.reader).timezone
    }

    /// Returns the update of a reminder, whose date must be in the future in its zone.
    private static func reminder(
        _ fields: JSONObject,
        _ call: APIRequest,
        of zone: TimeZoneName?
    ) throws -> (FeedUpdate, ReminderUpdate) {
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
        if case .once = said.days, let zone = call.zone(zone) {
            let firing = ReminderFiring(at: said.localTime, on: said.days, in: zone)
            guard firing.schedule.next(after: call.now) != nil else {
                throw APIError.field("on", "expected a date whose \(said.localTime) is in the future")
            }
        }
        return (update, said)
    }

    /// Whether a reminder is stored with the same content.
    private static func isStored(_ fields: JSONObject, _ stored: UserReminder, _ call: APIRequest) -> Bool {
        guard case .reminderSet(let said)? = try? call.said(.reminderSet, fields).change else { return false }
        let known = stored.reminder
        return said.localTime == known.localTime && said.days.text == known.days.text
            && said.timezone == stored.timezone && said.type == known.type && said.title == known.title
            && said.body == known.body
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
        let (days, date): (JSONValue, JSONValue) =
            switch reminder.days {
            case .weekly: (.array(reminder.days.text.split(separator: ",").map { .string(String($0)) }), .null)
            case .once: (.null, .string(reminder.days.text))
            }
        return [
            "id": .string(reminder.id.text), "localTime": .string(reminder.localTime.description), "days": days,
            "on": date, "timezone": .optional(stored.timezone?.text), "eventType": .optional(reminder.type?.text),
            "title": .string(reminder.title), "body": .string(reminder.body),
        ]
    }

    /// Returns the reminder with the zone of its clock, and where that zone comes from.
    private static func json(_ stored: UserReminder, _ call: APIRequest) -> JSONValue {
        var object = fields(stored)
        object["nextFireAt"] = .optional(nextRing(stored.reminder, call)?.inMilliseconds)
        // A zone that this machine does not know is not used.
        let known = stored.reminder.timezone.flatMap { call.tools.zones[$0] == nil ? nil : $0 }
        object["timezone"] = .string((known ?? call.catalog.timezone).text)
        let origin = known == nil ? "catalog" : known == stored.timezone ? "reminder" : "settings"
        object["timezoneFrom"] = .string(origin)
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
