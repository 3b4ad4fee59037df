import BellhopRules
import Cryptography
package import HTTPTransfer

/// One push in the form of APNs, without the host and the provider token; the same message always gives the same push.
package struct APNsPush: Sendable {
    /// The maximum number of bytes of a body.
    package static let limit = 4096

    package let path: String
    /// The headers without the authorization.
    package let headers: [TransferRequest.Header]
    package let body: [UInt8]

    /// A push, or the verdict on a message that cannot be converted into one.
    package enum Draft: Sendable {
        case push(APNsPush)
        case refused(Verdict)
    }

    /// Returns the push for a message; `topic` is the app's bundle id.
    package static func draft(of message: PushMessage, topic: String) -> Draft {
        guard message.provider == .apns else { return .refused(.payloadError(.wrongProvider)) }
        let token = message.token
        guard isToken(token) else { return .refused(.deviceGone(.invalidToken, at: nil)) }
        guard message.purpose == .alert || message.badge != nil else {
            return .refused(.payloadError(.invalidRequest))
        }
        guard let body = body(of: message) else { return .refused(.payloadError(.payloadTooLarge)) }
        return .push(APNsPush(path: "/3/device/" + token, headers: headers(of: message, topic), body: body))
    }

    /// Returns whether a text consists of pairs of hexadecimal digits.
    ///
    /// Apple asks developers not to rely on a length, but a path needs a limit.
    private static func isToken(_ text: String) -> Bool {
        let bytes = text.utf8
        return (2...1024).contains(bytes.count) && bytes.count % 2 == 0
            && bytes.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
    }

    private static func body(of message: PushMessage) -> [UInt8]? {
        guard message.purpose == .alert else { return APNsBody(message: message, parts: .everything).badgeUpdate() }
        return SizeLimitedBody.bytes(of: message, limit: limit) { parts, words in
            APNsBody(message: message, parts: parts).bytes(words)
        }
    }

    private static func headers(of message: PushMessage, _ topic: String) -> [TransferRequest.Header] {
        let isBadge = message.purpose == .badgeUpdate
        var headers: [TransferRequest.Header] = [
            ("apns-topic", topic),
            ("apns-push-type", "alert"),
            ("apns-priority", isBadge || message.isPatient ? "5" : "10"),
            ("apns-id", id(of: message)),
            ("apns-collapse-id", isBadge ? "\(PushMessage.badgeReplacementID)" : message.replacementID),
        ]
        if let seconds = message.expirySeconds { headers.append(("apns-expiration", String(seconds))) }
        return headers
    }

    /// Returns a UUID (version 8, derived from a hash) that every repeat of the push shares and no other push has.
    private static func id(of message: PushMessage) -> String {
        var seed = "\(message.notification.text)\u{0}\(message.device.subscription)"
        if message.purpose == .badgeUpdate { seed += "\u{0}badge\u{0}\(message.shownBadge ?? 0)" }
        let digits = Array(SHA256.digest(of: Array(seed.utf8)).hexPrefix(bytes: 16))
        let groups = [digits[0..<8], digits[8..<12], ["8"] + digits[13..<16], ["8"] + digits[17..<20], digits[20..<32]]
        return groups.map { String($0) }.joined(separator: "-")
    }
}

/// The layout of APNs' payload: `aps`, and next to it the data for the app.
struct APNsBody {
    let message: PushMessage
    let parts: PayloadReduction

    func bytes(_ words: PushWords) -> [UInt8] {
        let hasImage = parts != .withoutDataAndImage
        var json = JSONBytes(capacity: 1024)
        json.open("aps")
        json.open("alert")
        words.addTitle(to: &json)
        if words.hasBody { words.addBody(to: &json) }
        json.close()
        APSFields(message, withImage: hasImage).write(into: &json)
        json.close()
        let data = ClientData(message: message, form: .values, hasImage: hasImage)
        data.write(into: &json, withOwnData: parts == .everything, atMost: APNsPush.limit + words.mostBytes)
        return json.finished()
    }

    /// Returns a payload with the badge alone, without light or sound; Apple counts it as an alert, too.
    func badgeUpdate() -> [UInt8] {
        var json = JSONBytes(capacity: 64)
        json.open("aps")
        if let badge = message.shownBadge { json.add("badge", badge) }
        json.close()
        return json.finished()
    }
}
