import CNGHTTP2

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
