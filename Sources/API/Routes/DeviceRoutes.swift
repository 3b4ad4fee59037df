import BellhopJSON
import BellhopRules
import HTTPServer
import Push
import Store

/// The devices of a user.
enum DeviceRoutes {
    /// Answers `POST /api/push-token`.
    static func register(_ call: APIRequest) async throws -> HTTPResponse {
        var body = try call.body([
            "token", "platform", "provider", "subscription", "permission", "environment", "replaces",
        ])
        if body["provider"] == nil || body["provider"] == .null {
            body["provider"] = try provider(body, call).map { .string($0.rawValue) }
        }
        let update = try call.said(.subscriptionUpserted, body)
        guard case .subscriptionUpserted(let said) = update.change else { return .done }
        guard call.catalog.uses(said.provider) else {
            throw APIError.field("provider", "the app does not reach devices through it")
        }
        if said.provider == .webpush { try expectEndpoint(said.token, call) }
        let condition = Precondition.hasFewerDevices(than: mostDevices, beside: said.token)
        let most = "the user has registered \(mostDevices) devices, those among them that have ended"
        try await call.say(update, where: condition, else: APIError(409, "too-many-devices", most))
        return try await answer(said.token, call)
    }

    /// Answers `PATCH /api/push-token`.
    static func change(_ call: APIRequest) async throws -> HTTPResponse {
        let body = try call.body(["token", "permission"])
        let token = try token(body)
        let permission: PushPermission?
        switch body["permission"] {
        case .null?: permission = nil
        case .string(let text)?:
            guard let word = PushPermission(rawValue: text) else { fallthrough }
            permission = word
        default: throw APIError.field("permission", "expected \(JSONScope.oneOf(PushPermission.self))")
        }
        guard try await call.users.note(permission, on: token, of: call.reader, at: call.now) else {
            throw unknown
        }
        return try await answer(token, call)
    }

    /// Answers `DELETE /api/push-token`.
    ///
    /// An unknown token is not an error, so that a log-out can be repeated.
    static func revoke(_ call: APIRequest) async throws -> HTTPResponse {
        let body = try call.body(["token"])
        let token = try token(body)
        let update = try call.said(.subscriptionRevoked, ["token": .string(token.text)])
        // A token that never belonged to the user must not create a tombstone.
        try await call.isHeard(update, where: .knowsToken(token))
        return .done
    }

    private static func token(_ body: JSONObject) throws(APIError) -> DeviceToken {
        guard let token = body["token"]?.string.flatMap(DeviceToken.init(validating:)) else {
            throw .field("token", "expected \(DeviceToken.rule)")
        }
        return token
    }

    /// Rejects an endpoint outside the app's push services.
    ///
    /// Nothing is ever sent to such an endpoint.
    private static func expectEndpoint(_ token: DeviceToken, _ call: APIRequest) throws(APIError) {
        guard let hosts = call.tools.secrets.endpointHosts[call.reader.app] else { return }
        guard let endpoint = WebPushEndpoint(validating: token.text), hosts.allow(endpoint) else {
            throw .field("token", "expected an endpoint at one of the app's push services")
        }
    }

    /// Returns the matching provider, or `nil` if the rules will report a missing value.
    private static func provider(_ body: JSONObject, _ call: APIRequest) throws(APIError) -> PushProvider? {
        guard let token = body["token"]?.string.flatMap(DeviceToken.init(validating:)),
            let platform = body["platform"]?.string.flatMap(DevicePlatform.init(rawValue:))
        else { return nil }
        guard let provider = call.catalog.provider(for: platform, token: token) else {
            throw .field(
                "provider",
                "the app leaves more than one choice, or none: \(JSONScope.oneOf(PushProvider.self))"
            )
        }
        return provider
    }

    private static func answer(_ token: DeviceToken, _ call: APIRequest) async throws -> HTTPResponse {
        guard let device = try await call.users.device(token, of: call.reader) else { throw unknown }
        return .object([
            "id": .string(device.id), "platform": .string(device.platform.rawValue),
            "provider": .string(device.provider.rawValue), "permission": .optional(device.permission?.rawValue),
            "environment": .optional(device.environment?.rawValue),
        ])
    }

    /// The limit of stored devices.
    ///
    /// A user has at most 20 active ones. Ended ones also count and are stored for some time.
    private static let mostDevices = 200
    private static let unknown = APIError(404, "unknown-token", "no device of the user has this token")
}
