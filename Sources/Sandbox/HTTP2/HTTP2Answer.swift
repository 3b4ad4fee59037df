import CNGHTTP2

/// An answer on a stream.
struct HTTP2Answer: Sendable, Equatable {
    struct Field: Sendable, Equatable {
        /// The name in lower case.
        let name: String
        let value: String
    }

    let status: Int
    /// The fields without `:status` and `content-length`, which the server adds.
    var fields: [Field]
    let body: [UInt8]
    /// Whether the client may open the full number of streams from this answer on.
    var provesClient = false

    init(status: Int, fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Returns an answer with JSON that is already encoded.
    static func json(_ status: Int, _ body: [UInt8], _ fields: [Field] = []) -> HTTP2Answer {
        let type = Field(name: "content-type", value: "application/json; charset=UTF-8")
        return HTTP2Answer(status: status, fields: [type] + fields, body: body)
    }

    /// Returns an answer in HTML, as the providers' front ends give it for requests that never reached the service.
    static func html(_ status: Int, _ title: String) -> HTTP2Answer {
        let type = Field(name: "content-type", value: "text/html; charset=UTF-8")
        let page = "<!DOCTYPE html>\n<html lang=en>\n<title>Error \(status) (\(title))!!1</title>\n</html>\n"
        return HTTP2Answer(status: status, fields: [type], body: Array(page.utf8))
    }
}

/// Stores the fields of an answer in the layout that libnghttp2 requires.
///
/// The buffers are reused, so that an answer allocates no memory.
struct AnswerFields {
    private var text: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []
    private var pairs: [nghttp2_nv] = []

    /// Calls `body` with the fields of `answer`, which are valid during the call.
    mutating func withPairs(_ answer: HTTP2Answer, _ body: (UnsafePointer<nghttp2_nv>, Int) -> Void) {
        text.removeAll(keepingCapacity: true)
        lengths.removeAll(keepingCapacity: true)
        pairs.removeAll(keepingCapacity: true)
        append(":status", String(answer.status))
        for field in answer.fields { append(field.name, field.value) }
        append("content-length", String(answer.body.count))
        text.withUnsafeMutableBufferPointer { text in
            guard var at = text.baseAddress else { return }
            for (name, value) in lengths {
                pairs.append(
                    nghttp2_nv(
                        name: at,
                        value: at + name,
                        namelen: name,
                        valuelen: value,
                        flags: bellhop_no_field_flags
                    )
                )
                at += name + value
            }
            pairs.withUnsafeBufferPointer { pairs in
                guard let first = pairs.baseAddress else { return }
                body(first, pairs.count)
            }
        }
    }

    private mutating func append(_ name: String, _ value: String) {
        text.append(contentsOf: name.utf8)
        text.append(contentsOf: value.utf8)
        lengths.append((name.utf8.count, value.utf8.count))
    }
}
