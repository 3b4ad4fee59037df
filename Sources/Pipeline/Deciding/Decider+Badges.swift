import BellhopRules
import Cryptography
import Push
import Store

extension Decider {
    /// The updates of a user's devices that show a number: what is unread, and nothing else.
    ///
    /// They have no line in the ledger: the next number is right, whatever became of this one. A browser must
    /// show something for whatever reaches it, so that it learns the number with the next notification.
    func badgeUpdates(for key: RecipientKey, _ recipient: Recipient, index: Int) -> [Shipment] {
        guard let catalog = catalogs[key.app], catalog.types.contains(where: \.setsBadge), recipient.pushEnabled,
            let unread = recipient.unread, let words = BadgeUpdate.names
        else { return [] }
        let hash = SHA256.digest(of: NotificationID.hashInput(app: key.app, event: words.event, user: key.user))
        guard let notification = NotificationID(digest: hash.bytes) else { return [] }
        return recipient.devices.filter { showsNumber($0, key.app, catalog) }.map { device in
            var message = PushMessage(
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
            return Shipment(index: index, key: line, event: words.event, message: message)
        }
    }

    private func showsNumber(_ device: Device, _ app: AppID, _ catalog: Catalog) -> Bool {
        device.platform != .web && device.permission != .denied && catalog.uses(device.provider)
            && senders.serves(app, device.provider)
    }
}

/// What a badge update is called where a push needs a name.
private enum BadgeUpdate {
    /// Nil only if the words were spelled wrongly here.
    static let names: (event: EventID, type: EventType)? = {
        guard let event = EventID(validating: "badge"), let type = EventType(validating: "badge") else { return nil }
        return (event, type)
    }()
}
