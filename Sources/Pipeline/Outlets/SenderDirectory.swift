package import BellhopRules
package import Push
package import ServiceRuntime

/// The senders of every app and provider, each behind its window.
package struct SenderDirectory: Sendable {
    struct Outlet: Sendable {
        let window: SendWindow
        let budget: PushBudget?
        /// Sends what is meant for this outlet, and gives a verdict for each, in the same order.
        let send: @Sendable ([Shipment]) async -> [Verdict]
    }

    private let outlets: [OutletKey: Outlet]

    /// One provider of one app may hold half of each lane's prefetch at most, and all together three quarters, so that slow
    /// ones leave something to the others, and to what needs none.
    ///
    /// Over all lanes it may have twice as many pushes under way as its sender can: enough to keep that busy, and not so
    /// many that they outlast their leases inside it while it is slow.
    ///
    /// `prefetch` says how many messages each lane may hold.
    package init(
        _ senders: [AppID: [PushProvider: any PushSender]],
        mail: [AppID: EmailSender] = [:],
        prefetch: [Lane: Int],
        time: any TimeSource = SystemTime()
    ) {
        let limits = prefetch.mapValues { max(1, $0 / 2) }
        let shares = LaneShares(prefetch.mapValues { max(1, $0 / 4 * 3) })
        let window = { SendWindow(capacity: $0, limits: limits, shares: shares, time: time) }
        var outlets: [OutletKey: Outlet] = [:]
        for (app, providers) in senders {
            for (provider, sender) in providers {
                outlets[OutletKey(app: app, provider: provider)] = Outlet(
                    window: window(Self.doubled(sender.window)),
                    budget: sender.budget,
                    send: { await sender.send(Self.pushes(of: $0)) }
                )
            }
        }
        for (app, sender) in mail {
            // A mail may take most of a minute: one that waited in its sender would outlast its lease there.
            outlets[.email(of: app)] = Outlet(
                window: window(sender.window),
                budget: nil,
                send: { await sender.send($0.compactMap(\.payload.mail)) }
            )
        }
        self.outlets = outlets
    }

    /// One copy of each message, where mapping would make three.
    private static func pushes(of shipments: [Shipment]) -> [PushMessage] {
        var pushes: [PushMessage] = []
        pushes.reserveCapacity(shipments.count)
        for shipment in shipments {
            if case .push(let message) = shipment.payload { pushes.append(message) }
        }
        return pushes
    }

    private static func doubled(_ window: Int) -> Int {
        let (doubled, isTooMuch) = window.multipliedReportingOverflow(by: 2)
        return isTooMuch ? .max : doubled
    }

    /// All that there are.
    var keys: [OutletKey] { Array(outlets.keys) }

    func outlet(_ key: OutletKey) -> Outlet? { outlets[key] }

    func serves(_ app: AppID, _ provider: PushProvider) -> Bool {
        outlets[OutletKey(app: app, provider: provider)] != nil
    }

    func mails(_ app: AppID) -> Bool {
        outlets[.email(of: app)] != nil
    }
}
