import BellhopJSON
import BellhopRules
import HTTPServer

/// The app's data for a settings page: labels, order and defaults.
enum CatalogRoutes {
    /// Answers `GET /api/catalog`, in the user's language.
    static func catalog(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        let language = try await call.users.settings(of: call.reader).locale
        let page = call.catalog.settings
        let words = { (phrases: [LanguageTag: String]) in JSONValue.optional(call.catalog.words(phrases, for: language))
        }
        let answer = HTTPResponse.object([
            "language": .string(call.catalog.language.text), "timezone": .string(call.catalog.timezone.text),
            "languages": .array(call.catalog.labelLanguages.map { .string($0.text) }),
            "schemes": .array(call.catalog.schemes.map(JSONValue.string)),
            "readOnView": .bool(call.catalog.readOnView),
            "tags": .array(
                call.catalog.tags.map { ["tag": .string($0.id.text), "label": words($0.labels)] }
            ),
            "ways": .array(ways(call).map(JSONValue.string)),
            "types": .array(call.catalog.types.map { json($0, words($0.labels)) }),
            "preferences": [
                "master": ["label": words(page.masterLabels), "default": true],
                "quietHours": [
                    "label": words(page.quietHoursLabels), "helper": words(page.quietHoursHelpers),
                    "enabled": .bool(page.quietHours.enabled), "startHour": .number(page.quietHours.startHour),
                    "endHour": .number(page.quietHours.endHour),
                ],
            ],
        ])
        return answer.kept(for: call.request)
    }

    /// Returns the ways in which the app reaches its users, by its catalogue and its configured providers.
    private static func ways(_ call: APIRequest) -> [String] {
        let (app, secrets) = (call.reader.app, call.tools.secrets)
        let providers = (secrets.providers[app] ?? []).filter(call.catalog.uses)
        var ways = ["app"]
        if !providers.isDisjoint(with: [.apns, .fcm, .expo]) { ways.append("push") }
        if secrets.unsubscribe[app] != nil { ways.append("email") }
        if providers.contains(.webpush), secrets.webPushKeys[app] != nil { ways.append("webpush") }
        return ways
    }

    /// Answers `GET /api/web-push-key`.
    static func webPushKey(_ call: APIRequest) async throws -> HTTPResponse {
        _ = try call.query()
        guard let key = call.tools.secrets.webPushKeys[call.reader.app] else {
            throw APIError(404, "no-web-push", "the app does not reach browsers")
        }
        return HTTPResponse.object(["publicKey": .string(key)]).kept(for: call.request)
    }

    private static func json(_ type: CatalogType, _ label: JSONValue) -> JSONValue {
        [
            "type": .string(type.type.text), "label": label, "priority": .string(type.priority.rawValue),
            "icon": .optional(type.icon), "color": .optional(type.color), "background": .optional(type.background),
            "mandatory": .bool(type.isMandatory), "whenMuted": .string(type.whenMuted.rawValue),
            "badge": .bool(type.setsBadge),
            "tags": .array(type.tags.map { .string($0.text) }),
            "defaults": ["push": .bool(type.pushByDefault), "email": .bool(type.emailByDefault)],
            "quietHours": .object(
                JSONObject(
                    DevicePlatform.allCases.map { ($0.rawValue, .string(type.quietHours[$0].rawValue)) }
                )
            ),
        ]
    }
}

extension HTTPResponse {
    /// Returns an answer that a browser may store.
    ///
    /// The browser asks each time whether it is still valid.
    fileprivate func kept(for request: HTTPRequest) -> HTTPResponse {
        var response = tagged(for: request)
        response.headers["Cache-Control"] = "private, no-cache"
        return response
    }
}
