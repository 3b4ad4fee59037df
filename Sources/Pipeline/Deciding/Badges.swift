import BellhopRules
import Cryptography
import Push
import Store

extension Decider {
    /// Returns badge updates for a user's devices that show the number of unread notifications.
    ///
    /// They have no row in the ledger, because the next number is correct whatever the outcome of this one.
    func badgeUpdates(for key: UserKey, _ recipient: Recipient, index: Int) -> [OutgoingDelivery] {
        guard let catalog = catalogs[key.app], recipient.pushEnabled, let unread = recipient.unread,
            let words = BadgeUpdate.names
        else { return [] }
        let hash = SHA256.digest(of: NotificationID.hashInput(app: key.app, event: words.event, user: key.user))
        guard let notification = NotificationID(digest: hash.bytes) else { return [] }
        return recipient.devices.filter { showsNumber($0, key.app, catalog) }.map { device in
            var message = PushMessage.Content(
                app: key.app,
                notification: notification,
                type: words.type,
                words: (title: "", body: ""),
                device: device
            )
            message.purpose = .badgeUpdate
            message.priority = .low
            message.badge = unread
            let line = DeliveryKey(
                notification: NotificationKey(recipient: key, notification: notification),
                channel: .push,
                target: device.subscription
            )
            return OutgoingDelivery(index: index, key: line, event: words.event, message: PushMessage(message))
        }
    }

    /// The platforms that accept a number silently.
    ///
    /// A browser must show something for each push, so it receives the number with the next notification.
    static let silentPlatforms: Set<DevicePlatform> = [.ios, .android]

    private func showsNumber(_ device: Device, _ app: AppID, _ catalog: Catalog) -> Bool {
        catalog.badgePlatforms.contains(device.platform) && Self.silentPlatforms.contains(device.platform)
            && device.permission != .denied && catalog.uses(device.provider)
            && outlets.contains(OutletKey(app: app, provider: device.provider))
    }
}

/// The names of a badge update in a push.
private enum BadgeUpdate {
    /// `nil` only if the literals here are invalid.
    static let names: (event: EventID, type: EventType)? = {
        guard let event = EventID(validating: "badge"), let type = EventType(validating: "badge") else { return nil }
        return (event, type)
    }()
}
