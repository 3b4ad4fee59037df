import BellhopRules
import TestSupport

/// Bodies that no correct producer sends; the number makes each of them unique.
struct RandomBody {
    var chance: SeededChance

    /// Returns arbitrary bytes.
    mutating func bytes(_ number: Int) -> [UInt8] {
        let alphabet = Bool.random(using: &chance) ? Array("{}[]\",:\\u0123456789abcdeftrunl-+.E \n".utf8) : []
        let body = (0..<Int.random(in: 0..<200, using: &chance)).map { _ in
            alphabet.randomElement(using: &chance) ?? UInt8.random(in: 0...255, using: &chance)
        }
        return body + Array(" \(number)".utf8)
    }

    /// Returns well-formed JSON in which every field of an event may have any value.
    mutating func json(_ number: Int) -> [UInt8] {
        var object = JSONObject([("number", .string("\(number)"))])
        let names = [
            "id", "app", "eventType", "to", "title", "body", "data", "route", "sentAtIso", "deliverAt", "userId",
        ]
        for name in names where Bool.random(using: &chance) { object[name] = value(depth: 3) }
        return JSONWriter.canonicalBytes(of: .object(object))
    }

    /// Returns a good event with changed, missing, repeated or cut-off bytes.
    mutating func mutation(_ number: Int) -> [UInt8] {
        var body = Array(event(number).utf8)
        for _ in 0..<Int.random(in: 1...3, using: &chance) where !body.isEmpty {
            let place = Int.random(in: 0..<body.count, using: &chance)
            switch Int.random(in: 0..<4, using: &chance) {
            case 0: body[place] = UInt8.random(in: 0...255, using: &chance)
            case 1: body.remove(at: place)
            case 2: body.insert(contentsOf: body[place..<min(place + 9, body.count)], at: place)
            default: body.removeSubrange(place...)
            }
        }
        return body
    }

    func event(_ number: Int) -> String {
        """
        {"id":"fuzz-\(number)","to":{"users":["u\(number)","v\(number)"]},"title":"Tittel \\u00e5 \\ud83d\\ude00",\
        "data":{"n":[1,-2.5e3,{"a":null}],"t":true},"metadata":{"k":"v"},"imageUrl":"https://a/b","route":"/x",\
        "sentAtIso":"2026-02-15T13:45:00.000Z","body":"b"}
        """
    }

    private mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &chance) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &chance))
        case 2: return .string(text())
        case 3: return .string("u1")
        case 4: return .string("2026-02-15T13:45:00Z")
        case 5: return 7
        case 6: return .array((0..<Int.random(in: 0..<4, using: &chance)).map { _ in value(depth: depth - 1) })
        default:
            var object = JSONObject([])
            for _ in 0..<Int.random(in: 0..<4, using: &chance) {
                let names = ["user", "users", "topic", "everyone", text()]
                object[names.randomElement(using: &chance) ?? ""] = value(depth: depth - 1)
            }
            return .object(object)
        }
    }

    private mutating func text() -> String {
        let scalars = (0..<Int.random(in: 0..<12, using: &chance)).map { _ in
            Unicode.Scalar(UInt32.random(in: 0...0x2FFF, using: &chance)) ?? "?"
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
