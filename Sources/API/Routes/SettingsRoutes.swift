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
    static func change(_ call: APIRequest) async throws -> HTTPResponse {
        let body = try call.body(["pushEnabled", "emailEnabled", "locale", "timezone", "email"])
        let update = try call.said(.recipientUpserted, body)
        if case .recipientUpserted(let said) = update.change {
            try call.expectZone(said.timezone.value)
            if said.email.value != nil, !call.catalog.clientsMaySetEmail {
                throw APIError.field("email", "only the app's servers set the address")
            }
        }
        if !body.isEmpty { try await call.isHeard(update) }
        return try await answer(call)
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
        let stored = try await call.users.preferences(of: call.reader)
        let document = stored.flatMap { try? JSONParser().parse($0).get() }
        let isCleared = document == nil || document == .null
        let normal = PreferenceDocument(
            normalizing: isCleared ? nil : document,
            schema: call.catalog.preferenceSchema
        )
        if normal.wasRepaired { call.tools.preferenceFallbacks.with(call.reader.app.text).increment() }
        return .object(normal.json)
    }

    /// Answers `PUT /api/preferences`.
    ///
    /// With `If-None-Match: *` it succeeds only if there are no preferences yet.
    static func put(_ call: APIRequest) async throws -> HTTPResponse {
        let onlyNew = try isForNewOnly(call.request)
        let body = try call.body(nil)
        var update = try call.said(.recipientUpserted, ["preferences": .object(body)])
        guard case .recipientUpserted(var said) = update.change else { return .done }
        if said.normalizePreferences(call.catalog.preferenceSchema) {
            call.tools.preferenceFallbacks.with(call.reader.app.text).increment()
        }
        update.change = .recipientUpserted(said)
        let condition: Precondition? = onlyNew ? .hasNoPreferences : nil
        guard try await call.isHeard(update, where: condition) else {
            throw APIError(412, "precondition-failed", "there are preferences already")
        }
        return .object(said.preferences.value ?? JSONObject())
    }

    private static func isForNewOnly(_ request: HTTPRequest) throws(APIError) -> Bool {
        guard let condition = request.headers["If-None-Match"] else { return false }
        guard condition == "*" else {
            throw APIError(422, "invalid-field", "expected `*`, or omit the header", field: "If-None-Match")
        }
        return true
    }
}
