package import BellhopRules
package import ServiceRuntime

/// One request as it arrived, and what was answered.
package struct ReceivedRequest: Sendable {
    /// What went back.
    package struct Answer: Sendable, Equatable {
        package let status: Int
        /// In the provider's words, such as `UNREGISTERED`; nil for a success.
        package let reason: String?
    }

    /// Counts what the sandbox has received, from 1; a `DELETE` does not start it again.
    package let number: UInt64
    package let at: Instant
    /// Nil for a path that belongs to no provider.
    package let provider: ProviderName?
    /// Counts the connections of the sandbox, from 1.
    package let connection: UInt64
    /// The device that the request names.
    package let token: String?
    /// What makes a repeat recognisable on the device.
    package let tag: String?
    package let content: ReceivedContent
    /// Nil where the connection was dropped in place of an answer.
    package let answer: Answer?
    /// What was wrong with the request itself; nil also where the request was right and the device was not.
    package let refused: String?
    let block: HeaderBlock

    package var method: String { block[":method"] ?? "" }
    package var path: String { block[":path"] ?? "" }

    /// In the order they came, without those of HTTP/2 itself; the authorization keeps only its scheme.
    package var headers: [(name: String, value: String)] {
        block.fields.filter { !$0.name.hasPrefix(":") }.map { name, value in
            guard name == "authorization" else { return (name, value) }
            let scheme = value.split(separator: " ", maxSplits: 1).first ?? ""
            return (name, scheme.count == value.count ? "[masked]" : "\(scheme) [masked]")
        }
    }

    /// The body as JSON: parsed where it is some, a string where it is not, null where there is none.
    package var body: JSONValue {
        switch content {
        case .json(let value): return value
        case .bytes(let bytes) where bytes.isEmpty: return .null
        case .bytes(let bytes):
            let parsed = try? JSONParser(limits: .init(bytes: bytes.count, depth: 64)).parse(bytes).get()
            return parsed ?? .string(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// About what it takes in memory.
    var byteCount: Int {
        let body = if case .bytes(let bytes) = content { bytes.count } else { 1_024 }
        return block.byteCount + body + 512
    }
}

extension ReceivedRequest {
    /// As the control interface shows it.
    var json: JSONValue {
        let fields = headers.map { ($0.name, JSONValue.string($0.value)) }
        return [
            "number": .number(JSONNumber(Int64(clamping: number))),
            "provider": .text(provider?.rawValue),
            "at": .string(at.description),
            "connection": .number(JSONNumber(Int64(clamping: connection))),
            "method": .string(method),
            "path": .string(path),
            "headers": .object(JSONObject(fields)),
            "body": body,
            "token": .text(token),
            "tag": .text(tag),
            "answer": answer.map { ["status": .whole($0.status), "reason": .text($0.reason)] } ?? .null,
            "refused": .text(refused),
        ]
    }
}

extension JSONValue {
    /// A string, or null.
    static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    /// A whole number.
    static func whole(_ number: Int) -> JSONValue { .number(JSONNumber(Int64(number))) }
}
