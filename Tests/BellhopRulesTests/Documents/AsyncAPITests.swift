import BellhopRules
import Testing

/// Reads `docs/asyncapi.yaml` line by line: keys by their indentation, enough to follow every reference in it.
@Suite("docs/asyncapi.yaml")
struct AsyncAPITests {
    private struct Document {
        var keys: Set<String> = []
        var references: [String] = []
        var scalars: [String: String] = [:]
        var items: [String] = []

        init(_ text: String) {
            var path: [(indentation: Int, key: String)] = []
            for line in text.split(separator: "\n") {
                let indentation = line.prefix { $0 == " " }.count
                let content = line.dropFirst(indentation)
                if content.hasPrefix("- ") {
                    items.append(Self.unquoted(content.dropFirst(2)))
                    continue
                }
                guard let colon = Self.colon(in: content) else { continue }
                let key = Self.unquoted(content[..<colon])
                path.removeAll { $0.indentation >= indentation }
                path.append((indentation, key))
                let place = "#/" + path.map(\.key).joined(separator: "/")
                keys.insert(place)
                let value = Self.unquoted(content[content.index(after: colon)...].drop { $0 == " " })
                scalars[place] = value
                if key == "$ref" { references.append(value) }
            }
        }

        /// Returns the colon that ends a key, or `nil` in a line that continues a folded text.
        private static func colon(in content: Substring) -> Substring.Index? {
            var inQuotes = false
            for index in content.indices {
                if content[index] == "'" { inQuotes.toggle() }
                guard content[index] == ":", !inQuotes else { continue }
                let next = content.index(after: index)
                let endsKey = next == content.endIndex || content[next] == " "
                return endsKey && !content[..<index].contains(" ") ? index : nil
            }
            return nil
        }

        private static func unquoted(_ text: some StringProtocol) -> String {
            text.count >= 2 && text.first == "'" && text.last == "'"
                ? String(text.dropFirst().dropLast()) : String(text)
        }
    }

    private func document() throws -> Document {
        Document(try Repository.text("docs/asyncapi.yaml"))
    }

    @Test("every reference leads to a place in this document or in the schema")
    func references() throws {
        let document = try document()
        let schema = try JSONParser(limits: .catalog).parse(try Repository.bytes("docs/event.schema.json")).get()
        #expect(document.references.count > 30)
        for reference in document.references {
            guard reference.hasPrefix("./event.schema.json") else {
                #expect(document.keys.contains(reference), "\(reference)")
                continue
            }
            let pointer = reference.split(separator: "#", omittingEmptySubsequences: false).dropFirst().first ?? ""
            #expect(try #require(JSONPointer(String(pointer))).value(in: schema) != nil, "\(reference)")
        }
    }

    @Test("every feed type has its message with its schema, and there is no other")
    func feedTypes() throws {
        let document = try document()
        let types = FeedType.allCases.map(\.rawValue)
        #expect(document.items.filter { $0.contains(".") } == types)
        for type in types + [SubmissionParser.cancellationType] {
            let payload = document.scalars["#/components/messages/\(type)/payload/schema/$ref"]
            #expect(payload == "./event.schema.json#/$defs/\(type)")
        }
        for type in types { #expect(document.keys.contains("#/channels/feed/messages/\(type)")) }
        #expect(document.scalars["#/channels/cancellations/address"] == "{app}.\(SubmissionParser.cancellationType)")
    }

    @Test("lanes are queues, and events go to the topic exchange by app and type")
    func channels() throws {
        let document = try document()
        for lane in Lane.allCases {
            let channel = "#/channels/\(lane.rawValue)Lane"
            #expect(document.scalars["\(channel)/address"] == "bellhop.\(lane.rawValue)")
            #expect(document.scalars["\(channel)/bindings/amqp/queue/name"] == "bellhop.\(lane.rawValue)")
        }
        let exchange = "#/components/channelBindings/eventsExchange/amqp/exchange"
        #expect(document.scalars["\(exchange)/name"] == "bellhop.events")
        #expect(document.scalars["\(exchange)/type"] == "topic")
        #expect(document.scalars["#/channels/events/address"] == "{app}.{eventType}")
    }

    @Test("the three forms are listed with the content types that the code accepts")
    func forms() throws {
        let document = try document()
        let messages = "#/components/messages"
        #expect(document.scalars["\(messages)/plainEvent/contentType"] == "application/json")
        #expect(document.scalars["\(messages)/structuredCloudEvent/contentType"] == "application/cloudevents+json")
        #expect(document.scalars["\(messages)/binaryCloudEvent/contentType"] == "application/json")
        let headers = "\(messages)/binaryCloudEvent/headers/properties"
        for name in ["specversion", "id", "source", "type", "time"] {
            #expect(document.keys.contains("\(headers)/cloudEvents:\(name)"))
        }
    }
}
