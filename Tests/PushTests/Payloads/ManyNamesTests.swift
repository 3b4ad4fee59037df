import BellhopRules
import Push
import Testing

/// A search through all members for each member would take hours here.
@Suite("Data with many names", .timeLimit(.ofTest))
struct ManyNamesTests {
    private static let count = 200_000

    @Test("reserved names whose alternative names are used are omitted, however many there are")
    func reserved() throws {
        let members = (0..<Self.count).map { ("gcm\($0)", JSONValue.null) } + [("gcm", "mine"), ("x_gcm", "taken")]
        var message = try SamplePushes.plain()
        // None of them may be written, so that no limit of bytes ends the work.
        let names = (0..<Self.count).map { ("gcm\($0)", JSONValue.string("v")) }
        message.data = Self.object(names + names.map { ("x_" + $0.0, JSONValue.null) } + members.suffix(2))
        let bytes = FCMRequest.body(of: message, now: SamplePushes.now)
        let body = try ReadBody(try #require(bytes))
        #expect(body.data["x_gcm"] == "taken")
        #expect(body.data["x_gcm1"] == nil)
        #expect(body.data["gcm"] == nil)
    }

    /// Builds an object with the parser, which finds duplicate names without a search for each.
    private static func object(_ members: [(String, JSONValue)]) -> JSONObject {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (index, (name, value)) in members.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            JSONWriter.write(name, into: &text)
            text.append(UInt8(ascii: ":"))
            text += JSONWriter.canonicalBytes(of: value)
        }
        text.append(UInt8(ascii: "}"))
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 64 << 20, depth: 4))
        guard case .success(.object(let object)) = parser.parse(text) else { return JSONObject() }
        return object
    }
}
