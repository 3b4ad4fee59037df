package import BellhopRules
package import Push

/// The senders of every app and provider, each behind its window.
package struct SenderDirectory: Sendable {
    private struct Place: Hashable {
        let app: AppID
        let provider: PushProvider
    }

    struct Outlet: Sendable {
        let sender: any PushSender
        let window: SendWindow
    }

    private let outlets: [Place: Outlet]

    /// One provider of one app gets half of each lane's prefetch at most, so that a slow one leaves the other half to the
    /// others.
    ///
    /// Over all lanes it gets twice as many as its sender can have under way: enough to keep it busy, and not so many that
    /// they outlast their leases inside it while it is slow.
    ///
    /// `prefetch` says how many messages each lane may hold.
    package init(_ senders: [AppID: [PushProvider: any PushSender]], prefetch: [Lane: Int]) {
        let limits = prefetch.mapValues { max(1, $0 / 2) }
        let most = limits.values.max() ?? 1
        var outlets: [Place: Outlet] = [:]
        for (app, providers) in senders {
            for (provider, sender) in providers {
                let capacity = sender.window < most / 2 ? sender.window * 2 : most
                outlets[Place(app: app, provider: provider)] = Outlet(
                    sender: sender,
                    window: SendWindow(capacity: capacity, limits: limits)
                )
            }
        }
        self.outlets = outlets
    }

    func outlet(for app: AppID, _ provider: PushProvider) -> Outlet? {
        outlets[Place(app: app, provider: provider)]
    }

    func serves(_ app: AppID, _ provider: PushProvider) -> Bool {
        outlet(for: app, provider) != nil
    }
}
