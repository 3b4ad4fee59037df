import CCurl

/// The header lines of a request as libcurl's linked list, in memory that is kept from one request to the next.
///
/// Confined to the loop's thread. libcurl does not copy the list, so it stays untouched until the transfer has ended.
final class HeaderLines {
    private var text = HeaderText()

    /// What libcurl reads: a copy of the text that does not move, and the nodes that point into it.
    private var bytes = UnsafeMutableBufferPointer<CChar>.allocate(capacity: 1024)
    private var nodes = UnsafeMutableBufferPointer<curl_slist>.allocate(capacity: 16)

    deinit {
        bytes.deallocate()
        nodes.deallocate()
    }

    /// Builds the list for `request`; throws `invalidRequest` if a header must not be sent.
    ///
    /// libcurl's own additions are switched off: a form's content type on every POST, and `Expect: 100-continue`.
    func build(for request: TransferRequest) throws(TransferError) -> UnsafeMutablePointer<curl_slist>? {
        text.removeAll()
        var hasContentType = false
        for (index, header) in request.headers.enumerated() {
            guard text.append(header) else { throw refusal(of: index, in: request) }
            hasContentType = hasContentType || HeaderRules.isContentType(header.name)
        }
        text.append(line: "Expect:")
        if !hasContentType { text.append(line: "Content-Type:") }
        return link(text)
    }

    private func link(_ text: HeaderText) -> UnsafeMutablePointer<curl_slist>? {
        Self.ensure(text.bytes.count, in: &bytes)
        Self.ensure(text.starts.count, in: &nodes)
        guard let base = bytes.baseAddress, let first = nodes.baseAddress else { return nil }
        text.bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(bytes).copyMemory(from: $0) }
        for (index, start) in text.starts.enumerated() {
            let next = index + 1 < text.starts.count ? first + index + 1 : nil
            (first + index).initialize(to: curl_slist(data: base + start, next: next))
        }
        return first
    }

    private static func ensure<Element>(_ count: Int, in buffer: inout UnsafeMutableBufferPointer<Element>) {
        guard buffer.count < count else { return }
        let capacity = max(count, 2 * buffer.count)
        buffer.deallocate()
        buffer = .allocate(capacity: capacity)
    }

    private func refusal(of index: Int, in request: TransferRequest) -> TransferError {
        TransferError(
            .invalidRequest,
            """
            \(request.attempt): header number \(index + 1) was refused before sending; names must be \
            tokens that are not the transport's own, values must be free of control characters
            """
        )
    }
}
