/// The event's id in a body that is too large, cut or not valid JSON.
///
/// A dead letter of such a message is found by the event's id only if the id is read without parsing the body. The scan
/// reads each byte once and keeps at most one text for each member.
///
/// The app and the type are not read: the routing key names them, and the broker has checked it.
struct UnparsedNames {
    /// The legible members that identify the event; `nil` if the body does not begin like an object.
    let document: JSONObject?

    /// The members that are read, in the body and inside the `data` of CloudEvents.
    private static let names = ["id", "source", "specversion"]
    private static let nested = "data"
    /// The maximum length of a name's text in bytes; a longer one is not valid.
    private static let longest = 1024

    init(in body: [UInt8]) {
        guard let start = body.firstIndex(where: { !Self.blanks.contains($0) }), body[start] == UInt8(ascii: "{") else {
            document = nil
            return
        }
        var scan = Scan(body: body, place: start)
        let (own, inner) = scan.members()
        var object = own
        if !inner.isEmpty { object[Self.nested] = .object(inner) }
        document = object
    }

    private static let blanks = Set(" \t\r\n".utf8)

    /// One pass over the body.
    private struct Scan {
        let body: [UInt8]
        var place: Int
        /// The number of open objects and lists.
        private var depth = 0
        /// Whether the object at the second level is the member `data`.
        private var isNested = false
        /// The number of open lists, whose texts are not read.
        private var lists = 0

        init(body: [UInt8], place: Int) {
            self.body = body
            self.place = place
        }

        /// Returns the members of the outer object, and of the object in its member `data`.
        mutating func members() -> (JSONObject, JSONObject) {
            var (own, inner) = (JSONObject(), JSONObject())
            var key: String?
            while place < body.endIndex {
                let byte = body[place]
                switch byte {
                case UInt8(ascii: "{"):
                    depth += 1
                    if depth == 2 { isNested = key == UnparsedNames.nested }
                    key = nil
                case UInt8(ascii: "["):
                    depth += 1
                    lists += 1
                    key = nil
                case UInt8(ascii: "}"): depth -= 1
                case UInt8(ascii: "]"):
                    depth -= 1
                    lists -= 1
                case UInt8(ascii: "\""):
                    guard let text = text() else { return (own, inner) }
                    guard lists <= 0, depth == 1 || depth == 2 && isNested else { continue }
                    if isFollowedByColon {
                        key = text
                    } else if let name = key, UnparsedNames.names.contains(name) {
                        if depth == 1 { own[name] = .string(text) } else { inner[name] = .string(text) }
                        key = nil
                    }
                    continue
                case UInt8(ascii: ","): key = nil
                default: break
                }
                place += 1
            }
            return (own, inner)
        }

        /// Reads the text that begins here, and moves behind it; `nil` if it has no end.
        ///
        /// The text is empty if it is too long for a name or is not valid.
        private mutating func text() -> String? {
            let start = place
            place += 1
            while place < body.endIndex, body[place] != UInt8(ascii: "\"") {
                place += body[place] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard place < body.endIndex else { return nil }
            place += 1
            let literal = body[start..<place]
            guard literal.count <= UnparsedNames.longest else { return "" }
            let parser = JSONParser(limits: .init(bytes: literal.count, depth: 1))
            return (try? parser.parse(Array(literal)).get())?.string ?? ""
        }

        private var isFollowedByColon: Bool {
            body[place...].first { !UnparsedNames.blanks.contains($0) } == UInt8(ascii: ":")
        }
    }
}
