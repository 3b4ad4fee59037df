import BellhopRules

/// What decides whether and how a message may go to the endpoint that its subscription names.
struct WebPushDesk: Sendable {
    /// Where a message goes, and with which keys.
    struct Address {
        let host: String
        let origin: String
        let keys: WebPushKeys
        let key: VAPIDKey
    }

    let hosts: PushServiceHosts
    let keys: VAPIDKeys
    let tokens: VAPIDTokens

    func address(of message: PushMessage) throws(WebPushRound.Refusal) -> Address {
        guard message.device.provider == .webpush else { throw refusal(.wrongProvider) }
        // A push that shows nothing costs a browser's user the permission.
        guard message.purpose == .alert else { throw refusal(.unsupportedPurpose) }
        guard let endpoint = WebPushEndpoint(validating: message.device.token.text), hosts.allow(endpoint) else {
            throw refusal(.endpointRefused)
        }
        guard let subscription = message.device.webPushKeys else { throw refusal(.subscriptionUnusable) }
        guard let key = keys.key(named: subscription.vapidKeyID) else {
            throw WebPushRound.Refusal(.configError(.unknownVAPIDKey, scope: .message))
        }
        return Address(host: endpoint.host, origin: endpoint.origin, keys: subscription, key: key)
    }

    private func refusal(_ reason: VerdictReason) -> WebPushRound.Refusal {
        WebPushRound.Refusal(.payloadError(reason))
    }
}
