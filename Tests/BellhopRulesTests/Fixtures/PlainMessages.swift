import TestSupport

@testable import BellhopRules

/// Generated messages for the two ways to read an event.
enum PlainMessages {
    /// Returns a message whose body is a plain event, nearly one, or one with changed bytes.
    ///
    /// `members` are names of the event's data, in addition to names that no template needs.
    static func random(
        _ generator: inout SeededChance,
        app: String = "drop",
        type: String = "security",
        members: [String] = []
    ) -> InboundEnvelope {
        func isOne(in number: Int) -> Bool { Int.random(in: 0..<number, using: &generator) == 0 }
        func pick<Element>(_ elements: [Element], or usual: Element) -> Element {
            elements.randomElement(using: &generator) ?? usual
        }
        let texts = [#""a""#, #""longer than eight bytes""#, #""å""#, #""😀""#, #""1""#]
        let odd = [
            #""""#, #""long \t""#, "\"\u{7F}\"", #""\u00e5""#, "\"\(String(repeating: "x", count: 300))\"", "null",
            "01", "1e2",
            "[]", "{}", "true",
        ]
        func value(_ usual: [String]) -> String { pick(isOne(in: 30) ? odd : usual, or: "1") }
        let time = #""2026-02-15T13:45:00.000Z""#
        var fields = [
            ("id", value(texts)), ("app", "\"\(app)\""), ("eventType", "\"\(type)\""),
            ("to", #"{"user":\#(value(texts))}"#),
        ]
        for name in EventField.allCases.map(\.rawValue) where !fields.contains(where: { $0.0 == name }) {
            guard isOne(in: name == "data" && !members.isEmpty ? 1 : 3) else { continue }
            switch name {
            case "data", "metadata":
                let usual = name == "data" ? texts + ["0", "-1.50", "true", "false"] : texts
                let others = (0..<Int.random(in: 0...4, using: &generator)).map { "k\(9 - $0)" }
                let names = (name == "data" && !isOne(in: 5) ? members : []) + others
                let pairs = names.map { "\(isOne(in: 30) ? pick(odd, or: "") : "\"\($0)\""):\(value(usual))" }
                fields.append((name, "{\(pairs.joined(separator: ","))}"))
            case "sentAtIso", "expiresAt": fields.append((name, value([time])))
            case "route", "imageUrl", "deliverAt", "noEmail":
                if isOne(in: 30) { fields.append((name, value(texts))) }
            default: fields.append((name, value(texts)))
            }
        }
        fields.shuffle(using: &generator)
        let space = isOne(in: 3) ? " " : ""
        let members = fields.map { "\"\($0.0)\"\(space):\(space)\($0.1)" }
        var body = Array("{\(members.joined(separator: ",\(space)"))}".utf8)
        for _ in 0..<(isOne(in: 2) ? 0 : Int.random(in: 1...2, using: &generator)) {
            guard let place = body.indices.randomElement(using: &generator) else { break }
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: body[place] = pick(Array(#"{}[],:"\0 1.x"#.utf8) + [0, 0x7F, 0x80, 0xC3, 0xFF], or: 0)
            case 1: body.remove(at: place)
            default: body.insert(body[place], at: place)
            }
        }
        let isRouted = Bool.random(using: &generator)
        var envelope = InboundEnvelope(
            body: body,
            source: isRouted ? .eventsExchange(routingKey: isOne(in: 20) ? "drop.other" : "\(app).\(type)") : .elsewhere
        )
        if isOne(in: 4) { envelope.appID = pick(["", app, "other"], or: "") }
        if isOne(in: 4) { envelope.type = pick(["", type, "other"], or: "") }
        if isOne(in: 4) { envelope.timestamp = 1_800_000_000 }
        if isOne(in: 4) { envelope.messageID = "m" }
        if isOne(in: 20) { envelope.headers = [("x", .integer(1))] }
        return envelope
    }
}
