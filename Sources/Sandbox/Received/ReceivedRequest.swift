package import BellhopRules
package import ServiceRuntime

/// A received request and its answer.
package struct ReceivedRequest: Sendable {
    /// The answer that was sent.
    package struct Answer: Sendable, Equatable {
        package let status: Int
        /// The provider's reason, such as `UNREGISTERED`; `nil` for a success.
        package let reason: String?
    }

    /// The request's number in the sandbox, starting at 1; a `DELETE` does not reset it.
    package let number: UInt64
    package let at: Instant
    /// `nil` for a path that belongs to no provider.
    package let provider: ProviderName?
    /// The connection's number in the sandbox, starting at 1.
    package let connection: UInt64
    /// The device that the request names.
    package let token: String?
    /// The tag by which the device recognises a repeat.
    package let tag: String?
    package let content: ReceivedContent
    /// `nil` if the connection was dropped instead of an answer.
    package let answer: Answer?
    /// The error of the request itself; `nil` also if the request was valid and the device was not.
    package let refused: String?
    let block: HeaderBlock

    package var method: String { block[":method"] ?? "" }
    package var path: String { block[":path"] ?? "" }

    /// The headers in their received order, without HTTP/2 pseudo-headers; the authorization keeps only its scheme.
    package var headers: [(name: String, value: String)] {
        block.fields.filter { !$0.name.hasPrefix(":") }.map { name, value in
            guard name == "authorization" else { return (name, value) }
            let scheme = value.split(separator: " ", maxSplits: 1).first ?? ""
            return (name, scheme.count == value.count ? "[masked]" : "\(scheme) [masked]")
        }
    }

    /// The body as JSON: parsed if it is JSON, otherwise as a string; null if there is none.
    package var body: JSONValue {
        switch content {
        case .json(let value): return value
        case .bytes(let bytes) where bytes.isEmpty: return .null
        case .bytes(let bytes):
            let parsed = try? JSONParser(limits: .init(bytes: bytes.count, depth: 64)).parse(bytes).get()
            return parsed ?? .string(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// The approximate size in memory.
    var byteCount: Int {
        let body = if case .bytes(let bytes) = content { bytes.count } else { 1_024 }
        return block.byteCount + body + 512
    }
}

extension ReceivedRequest {
    /// The JSON of the control interface.
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
    /// Returns a string, or null.
    static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

    /// Returns a whole number.
    static func whole(_ number: Int) -> JSONValue { .number(JSONNumber(Int64(number))) }
}
