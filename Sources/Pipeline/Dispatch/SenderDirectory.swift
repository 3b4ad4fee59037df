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

    /// `window` bounds the messages under way to one provider of one app; it is less than a lane's prefetch, so that a slow
    /// provider cannot hold all that a lane may hold.
    package init(_ senders: [AppID: [PushProvider: any PushSender]], window: Int) {
        var outlets: [Place: Outlet] = [:]
        for (app, providers) in senders {
            for (provider, sender) in providers {
                outlets[Place(app: app, provider: provider)] = Outlet(
                    sender: sender,
                    window: SendWindow(capacity: window)
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
