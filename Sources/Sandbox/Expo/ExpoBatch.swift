import BellhopRules

/// The messages of a well-formed request, one for each recipient.
struct ExpoBatch: Sendable {
    /// One message to one recipient.
    struct Message: Sendable {
        let token: String
        let content: JSONObject

        /// The tag by which the device recognises a repeat.
        var tag: String? { content["tag"]?.string ?? content["collapseId"]?.string }

        /// The size of the message in bytes, without the address.
        var byteCount: Int {
            var content = content
            content["to"] = nil
            return JSONWriter.canonicalBytes(of: .object(content)).count
        }
    }

    let messages: [Message]
    /// Whether the request was a single object, which is answered with one ticket instead of an array.
    let isSingle: Bool

    static let limit = 100

    static func read(_ body: JSONValue) -> Result<ExpoBatch, ExpoError> {
        let isSingle = body.object != nil
        let elements = body.array ?? [body]
        guard !elements.isEmpty else { return .failure(.invalid("\"value\" must have a message")) }
        var messages: [Message] = []
        for (index, element) in elements.enumerated() {
            guard let object = element.object else {
                return .failure(.invalid("\"[\(index)]\" must be an object"))
            }
            if let violation = ExpoFields.violation(in: object, at: "[\(index)]") {
                return .failure(.invalid(violation))
            }
            for token in ExpoFields.recipients(object["to"]) ?? [] {
                messages.append(Message(token: token, content: object))
            }
        }
        guard messages.count <= limit else { return .failure(.tooManyNotifications) }
        let tokens = messages.compactMap { ExpoToken($0.token) }
        let projects = Dictionary(grouping: tokens, by: \.project).mapValues { $0.map(\.text) }
        guard projects.count < 2 else { return .failure(.mixed(projects)) }
        return .success(ExpoBatch(messages: messages, isSingle: isSingle))
    }
}
