import BellhopRules
import Foundation
import ServiceRuntime

/// Emulates `https://api.push.apple.com` or `https://api.sandbox.push.apple.com`: one push per request.
///
/// A device token of development builds begins with `cafe` and is invalid in the other environment. The first four
/// characters, or the next four after `cafe`, decide the outcome of a valid push: `dead…` is no longer registered,
/// `0ff0…` has expired, `bad0…` never was a token and `f0f0…` belongs to another app. Every other device gets its push.
final class APNsStandIn: ProviderStandIn {
    let name = ProviderName.apns
    private let environment: APNsEnvironment
    private let topics: Set<String>
    private let tokens: APNsTokenCheck
    private let time: any TimeSource
    private static let path = "/3/device/"

    init(_ environment: APNsEnvironment, account: APNsAccount, time: any TimeSource) {
        self.environment = environment
        topics = account.topics
        tokens = APNsTokenCheck(account)
        self.time = time
    }

    /// Always true, because a host of APNs serves nothing else.
    func serves(path: String) -> Bool { true }

    func judge(_ request: HTTP2Request, now: Instant) -> ProviderDecision {
        let token = Self.token(in: request.path)
        var judgement = judge(request, token, now)
        judgement.token = token
        judgement.tag = request.headers["apns-collapse-id"]
        return judgement
    }

    func answer(to fault: SandboxFault.Answer) -> StandInAnswer {
        let refusal = APNsRefusal.asked(fault, now: time.now())
        return refusal.answer(id: UUID().uuidString.lowercased()).with(retryAfter: fault.retryAfter)
    }

    private func judge(_ request: HTTP2Request, _ token: String?, _ now: Instant) -> ProviderDecision {
        let id = request.headers["apns-id"] ?? UUID().uuidString.lowercased()
        guard request.method == "POST" else {
            return .refuse(APNsRefusal(405, "MethodNotAllowed", "there is only POST"), id: id)
        }
        guard let token else {
            return .refuse(APNsRefusal(404, "BadPath", "there is only /3/device/{token}"), id: id)
        }
        if let refusal = tokens.refusal(request, now: now) { return .refuse(refusal, id: id) }
        var judgement = judgeKnown(request, token, id: id, now)
        judgement.provesClient = true
        return judgement
    }

    /// Judges the rest of the request after its sender has been authenticated.
    private func judgeKnown(_ request: HTTP2Request, _ token: String, id: String, _ now: Instant) -> ProviderDecision {
        let headers = APNsHeaderRules(headers: request.headers, topics: topics)
        if let refusal = headers.refusal() { return .refuse(refusal, id: id) }
        let type = request.headers["apns-push-type"]
        if let refusal = APNsPayloadRules.refusal(request.body, pushType: type) { return .refuse(refusal, id: id) }
        guard !token.isEmpty else {
            return .refuse(APNsRefusal(400, "MissingDeviceToken", "the path has no token"), id: id)
        }
        if let refusal = verdict(on: token.lowercased(), now) { return ProviderDecision { refusal.answer(id: id) } }
        let environment = environment
        return ProviderDecision { Self.taken(id: id, environment) }
    }

    private static func taken(id: String, _ environment: APNsEnvironment) -> StandInAnswer {
        var fields = [HTTP2Answer.Field(name: "apns-id", value: id)]
        if environment == .development {
            fields.append(HTTP2Answer.Field(name: "apns-unique-id", value: UUID().uuidString.lowercased()))
        }
        return StandInAnswer(http: HTTP2Answer(status: 200, fields: fields), reason: nil)
    }

    private func verdict(on token: String, _ now: Instant) -> APNsRefusal? {
        let isHexadecimal = token.utf8.count % 2 == 0 && token.allSatisfy(\.isHexDigit)
        let isOfDevelopment = token.hasPrefix("cafe")
        guard isHexadecimal, isOfDevelopment == (environment == .development) else {
            return APNsRefusal(400, "BadDeviceToken", "no token of this environment")
        }
        let rest = isOfDevelopment ? token.dropFirst(4) : token[...]
        switch rest.prefix(4) {
        case "dead": return APNsRefusal(410, "Unregistered", "the app was removed", since: now)
        case "0ff0": return APNsRefusal(410, "ExpiredToken", "the token has expired", since: now)
        case "bad0": return APNsRefusal(400, "BadDeviceToken", "never was a token")
        case "f0f0": return APNsRefusal(400, "DeviceTokenNotForTopic", "another app's token")
        default: return nil
        }
    }

    /// Returns the path segment of the device token; `nil` for another path.
    private static func token(in path: String) -> String? {
        guard path.hasPrefix(Self.path) else { return nil }
        let token = path.dropFirst(Self.path.count)
        return token.contains("/") ? nil : String(token)
    }
}

extension ProviderDecision {
    fileprivate static func refuse(_ refusal: APNsRefusal, id: String) -> ProviderDecision {
        .refuse("\(refusal.reason ?? "\(refusal.status)"): \(refusal.why)", refusal.answer(id: id))
    }
}
