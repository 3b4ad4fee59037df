import CNGHTTP2

/// The fields of requests in the layout that libnghttp2 requires.
///
/// They are laid out once for all requests of a batch that differ only in their bodies.
///
/// Confined to the loop's thread.
final class RequestFields {
    private let method: TransferRequest.Method
    private let url: String
    private let headers: [TransferRequest.Header]
    private let text: UnsafeMutableBufferPointer<UInt8>
    private var pairs: [nghttp2_nv] = []

    /// The space for the digits of a length.
    private static let digits = 20

    /// Lays out the fields; throws `invalidRequest` for a header that could break the framing or belongs to the
    /// transport.
    init(_ request: TransferRequest, to target: TargetURL) throws(TransferError) {
        method = request.method
        url = request.url
        headers = request.headers
        var bytes: [UInt8] = []
        var lengths: [(name: Int, value: Int)] = []
        func append(_ name: String, _ value: some StringProtocol) {
            bytes.append(contentsOf: name.utf8.lazy.map(ASCII.lowercased))
            bytes.append(contentsOf: value.utf8)
            lengths.append((name.utf8.count, value.utf8.count))
        }
        append(":method", method.rawValue)
        append(":scheme", "https")
        append(":authority", target.destination.authority)
        append(":path", target.path)
        if !headers.contains(where: { HeaderRules.isUserAgent($0.name) }) {
            append("user-agent", HeaderRules.ownName)
        }
        for header in headers {
            guard HeaderRules.allowsName(header.name), header.value.utf8.allSatisfy(ASCII.isHeaderValue) else {
                throw TransferError.refusal(
                    of: request,
                    "a header has a name or value that HTTP does not allow, or belongs to the transport"
                )
            }
            append(header.name, HeaderRules.trimmed(header.value))
        }
        let name = "content-length"
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: repeatElement(0, count: Self.digits))
        text = .allocate(capacity: bytes.count)
        _ = text.initialize(from: bytes)
        lengths.append((name.utf8.count, 0))
        layOut(lengths)
    }

    deinit { text.deallocate() }

    /// Whether `request` has the same fields except its length.
    func fit(_ request: TransferRequest) -> Bool {
        request.method == method && request.url == url && request.headers.elementsEqual(headers, by: ==)
    }

    /// Calls `body` with the fields, which are valid during the call.
    ///
    /// The length of an empty body is sent if the method usually has a body, because some servers require it.
    func withPairs<Result>(
        bodyLength: Int,
        _ body: (UnsafePointer<nghttp2_nv>, Int) -> Result
    ) -> Result? {
        let last = pairs.count - 1
        let namesLength = bodyLength > 0 || method == .post || method == .put
        if namesLength { pairs[last].valuelen = write(bodyLength, at: pairs[last].value) }
        return pairs.withUnsafeBufferPointer { pairs in
            pairs.baseAddress.map { body($0, namesLength ? pairs.count : last) }
        }
    }

    private func layOut(_ lengths: [(name: Int, value: Int)]) {
        guard var at = text.baseAddress else { return }
        for (name, value) in lengths {
            pairs.append(
                nghttp2_nv(name: at, value: at + name, namelen: name, valuelen: value, flags: bellhop_no_field_flags)
            )
            at += name + value
        }
    }

    private func write(_ number: Int, at place: UnsafeMutablePointer<UInt8>) -> Int {
        let digits = String(number).utf8
        for (offset, digit) in digits.enumerated() { place[offset] = digit }
        return digits.count
    }
}
