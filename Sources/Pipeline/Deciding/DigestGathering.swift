import BellhopRules
import Push
import Store

/// A delivery that goes out in a digest.
struct GatheredPush: Sendable {
    let shipment: Shipment
    /// What would go out if it went by itself.
    let message: PushMessage
    /// The digest that it belongs to.
    let slot: Timestamp
    let createdAt: Timestamp
}

/// Makes one push of all that was gathered for one device and one slot.
///
/// Its collapse key follows from the slot: a repeat replaces what it repeats. All deliveries that are in it share its
/// fate, so that no part of a digest is left over or sent again by itself.
struct DigestGathering {
    private struct Identity: Hashable {
        let recipient: RecipientKey
        let target: String
        let slot: Timestamp
    }

    private var gathered: [Identity: [GatheredPush]] = [:]

    mutating func add(_ push: GatheredPush) {
        let key = push.shipment.key
        let identity = Identity(recipient: key.notification.recipient, target: key.target, slot: push.slot)
        gathered[identity, default: []].append(push)
    }

    /// The newest notification of each digest carries it; where the app has no words for digests any more, each goes out
    /// by itself.
    func shipments(_ catalogs: CatalogSet, language: (RecipientKey) -> LanguageTag?) -> [Shipment] {
        gathered.flatMap { identity, pushes -> [Shipment] in
            let newestFirst = pushes.sorted { ($0.createdAt, $0.shipment.key.id) > ($1.createdAt, $1.shipment.key.id) }
            let words = catalogs[identity.recipient.app]?.renderDigest(
                titles: newestFirst.map(\.message.title),
                count: newestFirst.count,
                language: language(identity.recipient)
            )
            guard let words, let newest = newestFirst.first else { return pushes.map(\.shipment) }
            let message = Self.message(newest.message, words, identity.slot, count: newestFirst.count)
            return [Shipment(newest.shipment, with: newestFirst.dropFirst().map(\.shipment), message: message)]
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
        // What was gathered has time, whatever its newest would have had by itself.
        message.presentation.urgency = .low
        return PushMessage(message)
    }
}

extension EventType {
    /// What clients are told that a digest is: what routes by type would open the screen of one notification.
    fileprivate static let digest = EventType(validating: "digest")
}

extension DeliveryKey {
    fileprivate var id: String { notification.notification.text }
}
