import BellhopJSON
import BellhopRules
import Store

/// One thing that a stream tells, as it stands on the wire.
struct LiveEvent: Sendable {
    /// Its names on the wire.
    enum Kind: String, CaseIterable {
        /// It has come, or woken.
        case notification
        case read
        /// Something else has happened to notifications of the list.
        case state
        /// The number of those unread.
        case badge
        /// The list is to be read anew.
        case resync
    }

    let kind: Kind
    /// Server-sent events end with an empty line; JSON has no line breaks of its own.
    let bytes: [UInt8]

    /// `known` is what its reader knows afterwards.
    init(_ kind: Kind, _ data: JSONObject, known: InboxGlimpse) {
        let id = InboxCursor(known).text
        var text = Array("id: \(id)\nevent: \(kind.rawValue)\ndata: ".utf8)
        text += JSONWriter.canonicalBytes(of: .object(data)) + Array("\n\n".utf8)
        // A reader that is slow may have some dozen of them waiting.
        let isFit = text.count <= Self.mostBytes
        self.kind = isFit ? kind : .resync
        bytes = isFit ? text : Array("id: \(id)\nevent: \(Kind.resync.rawValue)\ndata: {}\n\n".utf8)
    }

    private static let mostBytes = 16 * 1_024

    /// A line that clients overlook, so that both ends and all between see that the stream is alive.
    static let heartbeat = Array(":\n\n".utf8)

    /// Says when to come back after the stream has ended: not everybody at once.
    static func opening(chance: Double) -> [UInt8] {
        Array("retry: \(1_000 + Int(4_000 * min(max(chance, 0), 1)))\n\n".utf8)
    }
}
