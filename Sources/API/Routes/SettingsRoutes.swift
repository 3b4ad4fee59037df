import BellhopJSON
import BellhopRules
import HTTPServer
import Store

/// The settings that apply to all types.
enum SettingsRoutes {
    /// Answers `GET /api/settings`.
    static func get(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        return try await answer(call)
    }

    /// Answers `PATCH /api/settings`.
    ///
    /// With `isDefault`, the body is a device's report, which changes no value that was set.
    static func change(_ call: APIRequest) async throws -> HTTPResponse {
        var body = try call.body(["pushEnabled", "emailEnabled", "locale", "timezone", "email", "isDefault"])
        let isDefault = try isReport(&body)
        let update = try call.said(.recipientUpserted, body)
        if case .recipientUpserted(let said) = update.change {
            try call.expectZone(said.timezone.value)
            if said.email.value != nil, !call.catalog.clientsMaySetEmail {
                throw APIError.field("email", "only the app's servers set the address")
            }
        }
        if !body.isEmpty, try await call.isHeard(update, isDefault: isDefault) { call.tools.live.changed(call.reader) }
        return try await answer(call)
    }

    /// Removes `isDefault` from a body and returns its value; a report has only a language and a time zone.
    private static func isReport(_ body: inout JSONObject) throws(APIError) -> Bool {
        guard let given = body["isDefault"] else { return false }
        guard let isDefault = given.bool else { throw .field("isDefault", "expected true or false") }
        body["isDefault"] = nil
        guard isDefault else { return false }
        if let other = body.members.first(where: { !["locale", "timezone"].contains($0.key) || $0.value == .null }) {
            throw .field(other.key, "only valid without isDefault")
        }
        return true
    }

    private static func answer(_ call: APIRequest) async throws -> HTTPResponse {
        let settings = try await call.users.settings(of: call.reader)
        return .object([
            "pushEnabled": .bool(settings.pushEnabled), "emailEnabled": .bool(settings.emailEnabled),
            "locale": .optional(settings.locale?.text), "timezone": .optional(settings.timezone?.text),
            "email": .optional(settings.email?.text),
        ])
    }
}

/// A user's preferences for each type, as one canonical document.
enum PreferenceRoutes {
    /// Answers `GET /api/preferences`.
    static func get(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        let normal = document(try await call.users.preferences(of: call.reader), call)
        if normal.wasRepaired { call.tools.preferenceFallbacks.with(call.reader.app.text).increment() }
        return .object(normal.json)
    }

    /// Answers `PUT /api/preferences`.
    ///
    /// With `If-None-Match: *` it succeeds only if there are no preferences yet. A body without `pausedUntil` or
    /// `emailToggles` keeps the stored ones, which its author may not know.
    static func put(_ call: APIRequest) async throws -> HTTPResponse {
        let onlyNew = try isForNewOnly(call.request)
        let body = try call.body(nil)
        try checkPause(body["pausedUntil"], call.now)
        let (update, isRepaired) = try update(body, call)
        if isRepaired { call.tools.preferenceFallbacks.with(call.reader.app.text).increment() }
        let condition: Precondition? = onlyNew ? .hasNoPreferences : nil
        guard try await call.isHeard(update, where: condition) else {
            throw APIError(412, "precondition-failed", "there are preferences already")
        }
        call.tools.live.changed(call.reader)
        return .object(document(try await call.users.preferences(of: call.reader), call).json)
    }

    /// Answers `PATCH /api/preferences`.
    ///
    /// Members that are absent stay unchanged, also inside `eventToggles`, `emailToggles` and `quietHours`.
    static func change(_ call: APIRequest) async throws -> HTTPResponse {
        let body = try call.body(["enabled", "eventToggles", "emailToggles", "quietHours", "pausedUntil"])
        try checkPause(body["pausedUntil"], call.now)
        // A concurrent change is preserved: the document is read again.
        for _ in 0..<attempts {
            let stored = try await call.users.preferences(of: call.reader)
            let merged = try merge(body, into: document(stored, call).json)
            let (update, _) = try update(merged, call)
            let text = stored.map { String(decoding: $0, as: UTF8.self) }
            guard try await call.isHeard(update, where: .preferencesStand(text)) else { continue }
            call.tools.live.changed(call.reader)
            return .object(normalized(.object(merged), call).json)
        }
        throw APIError(409, "changed-meanwhile", "the preferences were modified concurrently; retry")
    }

    private static let attempts = 5

    /// Returns the stored document in its canonical form.
    private static func document(_ stored: [UInt8]?, _ call: APIRequest) -> PreferenceDocument {
        let document = stored.flatMap { try? JSONParser().parse($0).get() }
        return normalized(document == .null ? nil : document, call)
    }

    private static func normalized(_ document: JSONValue?, _ call: APIRequest) -> PreferenceDocument {
        PreferenceDocument(normalizing: document, schema: call.catalog.preferenceSchema, now: call.now)
    }

    /// Returns the user's update with a normalised document, and whether the document had to be repaired.
    private static func update(
        _ document: JSONObject,
        _ call: APIRequest
    ) throws(APIError) -> (update: FeedUpdate, isRepaired: Bool) {
        var update = try call.said(.recipientUpserted, ["preferences": .object(document)])
        guard case .recipientUpserted(var said) = update.change else { return (update, false) }
        let isRepaired = said.normalizePreferences(call.catalog.preferenceSchema, at: call.now)
        update.change = .recipientUpserted(said)
        return (update, isRepaired)
    }

    /// Rejects the end of a pause that is not an instant, or too far ahead.
    private static func checkPause(_ value: JSONValue?, _ now: Timestamp) throws(APIError) {
        guard let value, value != .null else { return }
        guard let end = value.string.flatMap(Timestamp.init(validating:)) else {
            throw .field("pausedUntil", "expected \(Timestamp.rule), or null")
        }
        let longest = PreferenceDocument.longestPause.components.seconds
        guard end.microseconds - now.microseconds <= longest * 1_000_000 else {
            throw .field("pausedUntil", "expected an instant at most \(longest / 86_400) days ahead")
        }
    }

    /// Returns a canonical document with the members of a patch, which must have the types of the document's.
    ///
    /// The two members that may be absent from the document are null if they are to be removed.
    private static func merge(_ patch: JSONObject, into document: JSONObject) throws(APIError) -> JSONObject {
        var merged = document
        merged["pausedUntil"] = patch["pausedUntil"] ?? document["pausedUntil"] ?? .null
        merged["emailToggles"] = try emailToggles(patch["emailToggles"], in: document)
        for member in patch.members where !["pausedUntil", "emailToggles"].contains(member.key) {
            let (name, value) = (member.key, member.value)
            guard let inner = document[name]?.object else {
                merged[name] = try checked(value, name)
                continue
            }
            guard case .object(let members) = value else { throw .field(name, "expected an object") }
            var changed = inner
            for member in members.members {
                let field = "\(name)/\(member.key)"
                guard inner[member.key] != nil else { throw .field(field, "unknown member") }
                changed[member.key] = try checked(member.value, field)
            }
            merged[name] = .object(changed)
        }
        return merged
    }

    /// Returns the user's choices for e-mail with those of a patch; null for none.
    ///
    /// A choice of null is removed, and null in place of all choices removes all of them.
    private static func emailToggles(
        _ patch: JSONValue?,
        in document: JSONObject
    ) throws(APIError) -> JSONValue {
        guard patch != .null else { return .null }
        let name = "emailToggles"
        var toggles = document[name]?.object ?? JSONObject()
        guard let patch else { return toggles.isEmpty ? .null : .object(toggles) }
        guard let members = patch.object?.members else { throw .field(name, "expected an object") }
        for member in members {
            let field = "\(name)/\(member.key)"
            guard document["eventToggles"]?[member.key] != nil else { throw .field(field, "unknown member") }
            toggles[member.key] = member.value == .null ? nil : try checked(member.value, field)
        }
        return toggles.isEmpty ? .null : .object(toggles)
    }

    /// Checks a switch or an hour.
    private static func checked(_ value: JSONValue, _ field: String) throws(APIError) -> JSONValue {
        guard ["quietHours/startHour", "quietHours/endHour"].contains(field) else {
            guard value.bool != nil else { throw .field(field, "expected true or false") }
            return value
        }
        guard value.number != nil else { throw .field(field, "expected an hour from 0 to 23") }
        return value
    }

    private static func isForNewOnly(_ request: HTTPRequest) throws(APIError) -> Bool {
        guard let condition = request.headers["If-None-Match"] else { return false }
        guard condition == "*" else {
            throw APIError(422, "invalid-field", "expected `*`, or omit the header", field: "If-None-Match")
        }
        return true
    }
}
