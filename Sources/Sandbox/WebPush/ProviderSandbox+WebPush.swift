package import BellhopRules

extension ProviderSandbox {
    /// Subscribes a browser, and gives its `PushSubscription` as JSON; its private key stays here.
    ///
    /// With an `applicationServerKey` (base64url), only messages that are signed with it are taken.
    package func makeWebPushSubscription(
        applicationServerKey: String? = nil
    ) throws(SandboxError) -> JSONObject {
        browsers.json(of: try browsers.make(applicationServerKey: applicationServerKey))
    }

    /// Ends a subscription, as a browser does at `unsubscribe()`; false where there is none at this endpoint.
    @discardableResult
    package func endWebPushSubscription(endpoint: String) -> Bool {
        guard endpoint.hasPrefix(browsers.base) else { return false }
        return browsers.end(String(endpoint.dropFirst(browsers.base.count)))
    }
}
