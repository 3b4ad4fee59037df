package import BellhopRules
import Cryptography
import HTTPTransfer
import ServiceRuntime

/// A message to a browser that is ready to be sent.
struct WebPushDraft {
    let key: VAPIDKey
    let origin: String
    /// Whether its subscription names the key with which it was created.
    let namesKey: Bool
    var request: TransferRequest

    /// The first of the request's headers.
    var authorization: String {
        get { request.headers[0].value }
        set { request.headers[0].value = newValue }
    }
}

/// Decides whether and how a message may be sent to the endpoint of its subscription.
struct WebPushRequestBuilder: Sendable {
    /// The destination of a message, with its keys.
    struct Address {
        let host: String
        let origin: String
        let keys: WebPushKeys
        let key: VAPIDKey
    }

    let hosts: PushServiceHosts
    let keys: VAPIDKeys
    let tokens: VAPIDTokens

    func address(of message: PushMessage) throws(MessageRefusal) -> Address {
        guard message.device.provider == .webpush else { throw refusal(.wrongProvider) }
        // A push without a visible notification may cost the app its permission in the browser.
        guard message.purpose == .alert else { throw refusal(.unsupportedPurpose) }
        guard let endpoint = WebPushEndpoint(validating: message.device.token.text), hosts.allow(endpoint) else {
            throw unreachable(.endpointRefused)
        }
        guard let subscription = message.device.webPushKeys else { throw unreachable(.subscriptionUnusable) }
        guard let key = keys.key(named: subscription.vapidKeyID) else {
            throw MessageRefusal(.configError(.unknownVAPIDKey, scope: .message))
        }
        return Address(host: endpoint.host, origin: endpoint.origin, keys: subscription, key: key)
    }

    private func refusal(_ reason: VerdictReason) -> MessageRefusal { MessageRefusal(.payloadError(reason)) }

    /// Returns the refusal for a device that no message can ever reach, so that it is revoked.
    ///
    /// Any client may register such a device, and giving up one message per event would fill the dead letters.
    private func unreachable(_ reason: VerdictReason) -> MessageRefusal {
        MessageRefusal(.deviceGone(reason, at: nil))
    }

    /// Returns the message as sent: encrypted for its browser alone, with the sign-in.
    func draft(of message: PushMessage, now: Instant) throws(MessageRefusal) -> WebPushDraft {
        let address = try address(of: message)
        guard let payload = WebPushPayload.bytes(of: message, atMost: WebPushPadding.longest(at: address.host))
        else { throw MessageRefusal(.payloadError(.payloadTooLarge)) }
        let body = try Self.encrypted(payload, for: address.keys)
        guard let authorization = try? tokens.authorization(address.key, for: address.origin, now: now) else {
            throw MessageRefusal(Self.unencrypted)
        }
        let headers = WebPushRequest.headers(of: message, now: Timestamp(clamping: now.microseconds))
        let request = TransferRequest(
            .post,
            url: message.device.token.text,
            headers: [("authorization", authorization)] + headers,
            body: body,
            timeouts: Self.timeouts
        )
        let namesKey = address.keys.vapidKeyID != nil
        return WebPushDraft(key: address.key, origin: address.origin, namesKey: namesKey, request: request)
    }

    /// The time limits of a request.
    ///
    /// A host that accepts connections and does not answer must not delay its batch for long.
    private static let timeouts = TransferTimeouts(total: .seconds(10), connect: .seconds(5))

    private static let unencrypted = Verdict.retry(.library, notBefore: WebPushAnswer.shortestWait, scope: .message)

    private static func encrypted(_ payload: [UInt8], for keys: WebPushKeys) throws(MessageRefusal) -> [UInt8] {
        // An internal failure must not look like a fault of the browser's key.
        guard let freshness = try? WebPushContent.EphemeralKeys.draw() else { throw MessageRefusal(unencrypted) }
        do throws(CryptographyError) {
            return try WebPushContent.body(
                payload,
                paddedTo: WebPushPadding.length(for: payload.count),
                for: keys,
                with: freshness
            )
        } catch {
            throw MessageRefusal(error.code == .invalidKey ? .deviceGone(.subscriptionUnusable, at: nil) : unencrypted)
        }
    }
}

/// The headers of one message to a push service (RFC 8030), without the sign-in.
package enum WebPushRequest {
    /// Returns the headers; the time to live counts from `now`.
    package static func headers(of message: PushMessage, now: Timestamp) -> [(name: String, value: String)] {
        // The minimum is one second, because Apple rejects zero.
        let seconds = max(1, message.secondsToLive(from: now) ?? PushMessage.longestLife)
        return [
            ("content-type", "application/octet-stream"), ("content-encoding", "aes128gcm"),
            ("ttl", String(seconds)), ("urgency", message.urgency.rawValue),
            ("topic", message.pushTopic),
        ]
    }
}
