package import ServiceRuntime
import Synchronization

/// Reports once that requests seem to come through a proxy that no setting names.
///
/// All of these requests then count as one caller and share the limits of one address.
package final class ProxyWatch: Sendable {
    private let proxies: [AddressRange]
    private let setting: String
    private let logger: Logger
    private let hasReported = Atomic(false)

    /// Creates it; `setting` is the name of the setting that names the proxies.
    package init(_ proxies: [AddressRange], setting: String, logger: Logger) {
        self.proxies = proxies
        self.setting = setting
        self.logger = logger
    }

    package func look(at request: HTTPRequest) {
        guard request.headers["X-Forwarded-For"] != nil, let peer = request.peer, !request.isFrom(proxies),
            !hasReported.exchange(true, ordering: .relaxed)
        else { return }
        logger.warning(
            "a call with X-Forwarded-For comes from an address that is not a named proxy, counting it as the caller",
            ["address": .text("\(peer.address)"), "setting": .text(setting)]
        )
    }
}
