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

    /// One provider of one app may hold half of each lane's prefetch at most, so that a slow one leaves the other half to
    /// the others.
    ///
    /// Over all lanes it may have twice as many pushes under way as its sender can: enough to keep that busy, and not so
    /// many that they outlast their leases inside it while it is slow.
    ///
    /// `prefetch` says how many messages each lane may hold.
    package init(_ senders: [AppID: [PushProvider: any PushSender]], prefetch: [Lane: Int]) {
        let limits = prefetch.mapValues { max(1, $0 / 2) }
        var outlets: [Place: Outlet] = [:]
        for (app, providers) in senders {
            for (provider, sender) in providers {
                let (doubled, isTooMuch) = sender.window.multipliedReportingOverflow(by: 2)
                outlets[Place(app: app, provider: provider)] = Outlet(
                    sender: sender,
                    window: SendWindow(capacity: isTooMuch ? .max : doubled, limits: limits)
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
