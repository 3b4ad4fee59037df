import BellhopRules
import Push
import Store

/// A delivery that is sent in a digest.
struct DigestEntry: Sendable {
    let shipment: OutgoingDelivery
    /// The push that would be sent without a digest.
    let message: PushMessage
    /// The digest's slot.
    let slot: Timestamp
    let createdAt: Timestamp
}

/// Combines the pushes for one device and one slot into one push.
///
/// Its collapse key is derived from the slot, so that a repeat replaces the original. All deliveries in it share its
/// outcome, so that no part of a digest remains or is sent again separately.
struct DigestBuilder {
    private struct Identity: Hashable {
        let recipient: UserKey
        let target: String
        let slot: Timestamp
    }

    private var gathered: [Identity: [DigestEntry]] = [:]

    mutating func add(_ push: DigestEntry) {
        let key = push.shipment.key
        let identity = Identity(recipient: key.notification.recipient, target: key.target, slot: push.slot)
        gathered[identity, default: []].append(push)
    }

    /// Returns one shipment per digest, carried by its newest notification.
    ///
    /// If the app no longer has a digest text, each push is sent separately.
    func shipments(_ catalogs: CatalogSet, language: (UserKey) -> LanguageTag?) -> [OutgoingDelivery] {
        gathered.flatMap { identity, pushes -> [OutgoingDelivery] in
            let newestFirst = pushes.sorted { ($0.createdAt, $0.shipment.key.id) > ($1.createdAt, $1.shipment.key.id) }
            let words = catalogs[identity.recipient.app]?.renderDigest(
                titles: newestFirst.map(\.message.title),
                count: newestFirst.count,
                language: language(identity.recipient)
            )
            guard let words, let newest = newestFirst.first else { return pushes.map(\.shipment) }
            let message = Self.message(newest.message, words, identity.slot, count: newestFirst.count)
            return [OutgoingDelivery(newest.shipment, with: newestFirst.dropFirst().map(\.shipment), message: message)]
        }
    }

    private static func message(
        _ newest: PushMessage,
        _ words: RenderedContent,
        _ slot: Timestamp,
        count: Int
    ) -> PushMessage {
        var message = PushMessage.Content(
            app: newest.app,
            notification: newest.notification,
            type: EventType.digest ?? newest.type,
            words: (title: words.title, body: words.body),
            device: newest.device
        )
        message.link = words.link.map { DeepLink(web: $0.web, mobile: $0.mobile) }
        message.collapseKey = "digest:\(slot)"
        message.priority = .low
        message.badge = newest.badge
        message.digestCount = count
        message.presentation = newest.presentation
        // A digest is not urgent, whatever the urgency of its newest notification.
        message.presentation.urgency = .low
        return PushMessage(message)
    }
}

extension EventType {
    /// The type that clients receive for a digest; a client that routes by type would otherwise open the screen of one
    /// notification.
    fileprivate static let digest = EventType(validating: "digest")
}

extension DeliveryKey {
    fileprivate var id: String { notification.notification.text }
}
