package import BellhopRules
package import Push
package import ServiceRuntime

/// The senders of every app and provider, each behind its window.
package struct OutletDirectory: Sendable {
    struct Outlet: Sendable {
        let window: SendWindow
        let budget: PushBudget?
        /// Sends the shipments of this outlet and returns one verdict for each, in the same order.
        let send: @Sendable ([OutgoingDelivery]) async -> [Verdict]
    }

    private let outlets: [OutletKey: Outlet]

    /// Creates the outlets and their windows.
    ///
    /// One provider of one app may hold at most half of each lane's prefetch, and all together three quarters. Slow
    /// providers therefore leave a part to the others, and to messages that need no outlet.
    ///
    /// Over all lanes, an outlet may have twice as many pushes in flight as its sender's own window. This keeps the
    /// sender busy, and pushes do not outlast their leases inside a slow sender.
    ///
    /// `prefetch` is the number of messages that each lane may hold.
    package init(
        _ senders: [AppID: [PushProvider: any PushSender]],
        mail: [AppID: EmailSender] = [:],
        prefetch: [Lane: Int],
        time: any TimeSource = SystemTime()
    ) {
        let limits = prefetch.mapValues { max(1, $0 / 2) }
        let shares = LaneQuota(prefetch.mapValues { max(1, $0 / 4 * 3) })
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
            // A mail may take most of a minute; one that waited in its sender would outlast its lease there.
            outlets[.email(of: app)] = Outlet(
                window: window(sender.window),
                budget: nil,
                send: { await sender.send($0.compactMap(\.payload.mail)) }
            )
        }
        self.outlets = outlets
    }

    /// Copies each message once; a `map` chain would copy it three times.
    private static func pushes(of shipments: [OutgoingDelivery]) -> [PushMessage] {
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

    /// The keys of all configured outlets.
    var keys: [OutletKey] { Array(outlets.keys) }

    func outlet(_ key: OutletKey) -> Outlet? { outlets[key] }

    func serves(_ app: AppID, _ provider: PushProvider) -> Bool {
        outlets[OutletKey(app: app, provider: provider)] != nil
    }

    func mails(_ app: AppID) -> Bool {
        outlets[.email(of: app)] != nil
    }
}
