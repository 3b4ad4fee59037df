import BellhopRules

/// The messages of a request whose form is right, one for each recipient.
struct ExpoBatch: Sendable {
    /// One message to one recipient.
    struct Message: Sendable {
        let token: String
        let content: JSONObject

        /// What makes a repeat recognisable on the device.
        var tag: String? { content["tag"]?.string ?? content["collapseId"]?.string }

        /// The bytes of everything but the address.
        var byteCount: Int {
            var content = content
            content["to"] = nil
            return JSONWriter.canonicalBytes(of: .object(content)).count
        }
    }

    let messages: [Message]
    /// Whether it came as one object, which is answered with one ticket and not with an array.
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
