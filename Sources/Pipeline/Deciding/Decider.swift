import BellhopRules
import Push
import Store

/// Applies the rules to notifications, with the providers that are there.
struct Decider: Sendable {
    let catalogs: CatalogSet
    let senders: SenderDirectory
    let now: Timestamp

    /// How a new notification enters the ledger, and what goes out at once.
    func open(
        _ key: NotificationKey,
        _ content: NotificationContent,
        for recipient: Recipient,
        index: Int
    ) -> (lines: [OpeningDelivery], parcels: [Parcel]) {
        guard let type = catalogs[key.recipient.app]?[content.type] else {
            return ([.suppressed(.unknownType)], [])
        }
        switch decision(key, content, type, recipient) {
        case .expired: return ([.expired], [])
        case .suppress(let reason): return ([.suppressed(reason)], [])
        case .send(let devices, let withheld):
            var lines = withheld.map { OpeningDelivery.suppressed(.noPermission, target: $0.subscription) }
            var parcels: [Parcel] = []
            for device in devices {
                guard senders.serves(key.recipient.app, device.provider) else {
                    lines.append(.suppressed(.noProvider, target: device.subscription))
                    continue
                }
                lines.append(.sending(to: device.subscription))
                parcels.append(parcel(key, content, type, device, index: index, attempts: 0, isRepeat: false))
            }
            return (lines, parcels)
        }
    }

    /// What becomes of a claimed delivery that comes back: it is decided anew, and may not be sent after all.
    func resume(
        _ claimed: ClaimedDelivery,
        of stored: StoredNotification?,
        for recipient: Recipient,
        index: Int
    ) -> Resumed {
        func withheld(_ state: DeliveryState, _ reason: String) -> Resumed {
            .withheld(DeliveryOutcome(index: index, withheld: claimed.key, state, reason: reason))
        }
        func suppressed(_ reason: SuppressionReason) -> Resumed { withheld(.suppressed, reason.rawValue) }
        let key = claimed.key.notification
        guard let stored else { return suppressed(.recipientErased) }
        guard !stored.isRead else { return suppressed(.alreadyRead) }
        guard let type = catalogs[key.recipient.app]?[stored.content.type] else { return suppressed(.unknownType) }
        switch decision(key, stored.content, type, recipient) {
        case .expired: return withheld(.expired, "expired-while-waiting")
        case .suppress(let reason): return suppressed(reason == .noDevice ? .deviceGone : reason)
        case .send(let devices, let barred):
            guard let device = devices.first(where: { $0.subscription == claimed.key.target }) else {
                let isBarred = barred.contains { $0.subscription == claimed.key.target }
                return suppressed(isBarred ? .noPermission : .deviceGone)
            }
            guard senders.serves(key.recipient.app, device.provider) else { return suppressed(.noProvider) }
            return .send(
                parcel(
                    key,
                    stored.content,
                    type,
                    device,
                    index: index,
                    attempts: claimed.attempts,
                    isRepeat: claimed.outcomeWasUnknown
                )
            )
        }
    }

    enum Resumed: Sendable {
        case send(Parcel)
        case withheld(DeliveryOutcome)
    }

    private func decision(
        _ key: NotificationKey,
        _ content: NotificationContent,
        _ type: CatalogType,
        _ recipient: Recipient
    ) -> PushDecision {
        PushDecision(type: type, expiresAt: content.extras.expiresAt, recipient: recipient, now: now)
    }

    private func parcel(
        _ key: NotificationKey,
        _ content: NotificationContent,
        _ type: CatalogType,
        _ device: Device,
        index: Int,
        attempts: Int,
        isRepeat: Bool
    ) -> Parcel {
        Parcel(
            index: index,
            key: DeliveryKey(notification: key, channel: .push, target: device.subscription),
            event: content.event,
            attempts: attempts,
            isRepeat: isRepeat,
            message: PushMessage(key, content, type, to: device)
        )
    }
}
