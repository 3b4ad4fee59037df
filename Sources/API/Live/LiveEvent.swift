import BellhopJSON
import BellhopRules
import Store

/// One event of a stream, in its wire format.
struct LiveEvent: Sendable {
    /// The kinds of events, with their names on the wire.
    enum Kind: String, CaseIterable {
        /// A notification has arrived, or its snooze has ended.
        case notification
        case read
        /// Notifications of the list have changed their state in another way.
        case state
        /// The number of unread notifications.
        case badge
        /// The client must reload the list.
        case resync
    }

    let kind: Kind
    /// The bytes on the wire.
    ///
    /// Server-sent events end with an empty line. The JSON contains no line breaks.
    let bytes: [UInt8]

    /// Creates an event.
    ///
    /// `known` is the client's state after it.
    init(_ kind: Kind, _ data: JSONObject, known: InboxSnapshot) {
        let id = InboxCursor(known).text
        var text = Array("id: \(id)\nevent: \(kind.rawValue)\ndata: ".utf8)
        text += JSONWriter.canonicalBytes(of: .object(data)) + Array("\n\n".utf8)
        // A slow client may have a few dozen events waiting.
        let isFit = text.count <= Self.mostBytes
        self.kind = isFit ? kind : .resync
        bytes = isFit ? text : Array("id: \(id)\nevent: \(Kind.resync.rawValue)\ndata: {}\n\n".utf8)
    }

    private static let mostBytes = 16 * 1_024

    /// The size limit for all events of one update.
    ///
    /// A few dozen such updates may wait for a client.
    static let mostTogether = 256 * 1_024

    /// A line that clients ignore.
    ///
    /// It shows both ends and the proxies between them that the stream is alive.
    static let heartbeat = Array(":\n\n".utf8)

    /// Returns the delay until a client reconnects after the stream's end: 1 to 5 seconds, so that clients do not all
    /// return at the same time.
    static func opening(chance: Double) -> [UInt8] {
        Array("retry: \(1_000 + Int(4_000 * min(max(chance, 0), 1)))\n\n".utf8)
    }
}

extension [LiveEvent] {
    /// The concatenated bytes of the events.
    var bytes: [UInt8] { flatMap(\.bytes) }
}
