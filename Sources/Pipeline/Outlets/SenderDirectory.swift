package import BellhopRules
package import Push

/// The senders of every app and provider, each behind its window.
package struct SenderDirectory: Sendable {
    struct Outlet: Sendable {
        let sender: any PushSender
        let window: SendWindow
    }

    private let outlets: [OutletKey: Outlet]

    /// One provider of one app may hold half of each lane's prefetch at most, so that a slow one leaves the other half to
    /// the others.
    ///
    /// Over all lanes it may have twice as many pushes under way as its sender can: enough to keep that busy, and not so
    /// many that they outlast their leases inside it while it is slow.
    ///
    /// `prefetch` says how many messages each lane may hold.
    package init(_ senders: [AppID: [PushProvider: any PushSender]], prefetch: [Lane: Int]) {
        let limits = prefetch.mapValues { max(1, $0 / 2) }
        var outlets: [OutletKey: Outlet] = [:]
        for (app, providers) in senders {
            for (provider, sender) in providers {
                let (doubled, isTooMuch) = sender.window.multipliedReportingOverflow(by: 2)
                outlets[OutletKey(app: app, provider: provider)] = Outlet(
                    sender: sender,
                    window: SendWindow(capacity: isTooMuch ? .max : doubled, limits: limits)
                )
            }
        }
        self.outlets = outlets
    }

    func outlet(_ key: OutletKey) -> Outlet? { outlets[key] }

    func serves(_ app: AppID, _ provider: PushProvider) -> Bool {
        outlets[OutletKey(app: app, provider: provider)] != nil
    }
}
