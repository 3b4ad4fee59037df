import ServiceRuntime
import Synchronization

/// A request that has been received completely.
package struct HTTPRequest: Sendable {
    /// The method in upper case, as it was sent: `GET`.
    package let method: String
    package let target: RequestTarget
    package let headers: HTTPHeaders
    /// At most `HTTPLimits.bodyBytes` bytes.
    package let body: [UInt8]
    /// The address of the connection's other end; `nil` if it cannot be determined.
    package let peer: PeerAddress?
    /// Whether the server's admission has accepted the request by its head, before the body was received.
    package internal(set) var isAdmitted = false
    /// The findings of the admission, for the handler.
    package internal(set) var note = RequestNote()
    /// The decoded values of the route's `{places}`, set by the router.
    package internal(set) var parameters: [String: String] = [:]

    package init(
        method: String,
        target: RequestTarget,
        headers: HTTPHeaders = [:],
        body: [UInt8] = [],
        peer: PeerAddress? = nil
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.peer = peer
    }

    /// Returns the first value of a query parameter; an empty text for a name without a value.
    package func query(_ name: String) -> String? { target.query.first { $0.name == name }?.value }
}

/// One value of a request that is computed once, although the admission and the handler both need it.
///
/// Thread safety: the value is behind a lock.
package final class RequestNote: Sendable {
    private let kept = Mutex<(any Sendable)?>(nil)

    package init() {}

    /// Returns the kept value; `make` computes it for the first caller.
    package func value<Value: Sendable>(_ make: () -> Value) -> Value {
        kept.withLock { kept in
            if let known = kept as? Value { return known }
            let made = make()
            kept = made
            return made
        }
    }
}

/// The target of a request line.
///
/// It is split first and decoded afterwards, so that `%2F` in a segment stays in the segment.
package struct RequestTarget: Sendable, Equatable {
    /// One `name=value` of a query.
    package struct QueryItem: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    /// The path's decoded segments: `/a%20b/c` is `["a b", "c"]`, `/` is `[""]`.
    package let segments: [String]
    package let query: [QueryItem]

    /// Returns `nil` for a text that is not a path, an invalid escape, bytes that are not valid UTF-8, or a NUL.
    package init?(_ text: String) {
        var text = text
        guard let target = text.withUTF8(RequestTarget.init) else { return nil }
        self = target
    }

    /// Reads bytes, since each character of a text costs as much as a whole step of a call.
    private init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
        guard let path = Self.withoutOrigin(text[...]) else {
            (segments, query) = ([""], [])
            return
        }
        guard path.first == UInt8(ascii: "/") else { return nil }
        let parts = path.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let raw = parts[0].dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let segments = raw.compactMap { Self.decoded($0) }
        guard segments.count == raw.count, let query = parts.count > 1 ? Self.items(parts[1]) : [] else { return nil }
        self.segments = segments
        self.query = query
    }

    private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

    /// Returns the path and the query of the absolute form that a proxy sends, `http://host/path`; `nil` if it has no
    /// path.
    private static func withoutOrigin(_ text: Bytes) -> Bytes? {
        let scheme = ["http://", "https://"].first { scheme in
            text.prefix(scheme.utf8.count).elementsEqual(scheme.utf8) { $0 | 0x20 == $1 }
        }
        guard let scheme else { return text }
        let rest = text.dropFirst(scheme.utf8.count)
        return rest.firstIndex(of: UInt8(ascii: "/")).map { rest[$0...] }
    }

    private static func items(_ text: Bytes) -> [QueryItem]? {
        let raw = text.split(separator: UInt8(ascii: "&"))
        let items = raw.compactMap { item -> QueryItem? in
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0], plusIsSpace: true) else { return nil }
            guard let value = parts.count > 1 ? Self.decoded(parts[1], plusIsSpace: true) : "" else {
                return nil
            }
            return QueryItem(name: name, value: value)
        }
        return items.count == raw.count ? items : nil
    }

    /// Decodes a part; most have no escape and are copied.
    private static func decoded(_ part: Bytes, plusIsSpace: Bool = false) -> String? {
        let bytes = UnsafeBufferPointer(rebasing: part)
        guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
            return String(validating: bytes, as: UTF8.self)
        }
        return PercentEncoding.decode(bytes, plusIsSpace: plusIsSpace)
    }
}

/// Decides by the head of a request whether its body is received.
///
/// It is called only if a body is announced. It runs on the server's only thread, so it must be short and must not
/// wait.
package typealias HTTPAdmission = @Sendable (HTTPRequest) -> BodyAdmission

/// The decision about a request whose body has not been received yet.
package enum BodyAdmission: Sendable {
    /// The body is received up to this number of bytes, within a budget; a longer body is answered with 413.
    case receive(atMost: Int, within: BodyBudget)
    /// The request is answered without its body, and the connection is closed.
    case refuse(HTTPResponse)
}

/// The callers who share one bound for the bytes of their bodies, so that other callers' bodies are still received.
package enum BodyBudget: Sendable {
    case usual
    /// Programs that send long bodies and may wait long for their answers.
    case publishers
}
