/// The header lines of a request in libcurl's format.
enum HeaderLines {
    /// Returns the header lines; throws `invalidRequest` if a header must not be sent.
    ///
    /// It disables libcurl's own additions: a form's content type on every POST, and `Expect: 100-continue`.
    static func lines(of request: TransferRequest) throws(TransferError) -> [String] {
        var lines: [String] = []
        for (index, header) in request.headers.enumerated() {
            guard HeaderRules.allowsName(header.name), header.value.utf8.allSatisfy(ASCII.isHeaderValue) else {
                throw TransferError.refusal(
                    of: request,
                    """
                    header number \(index + 1) has a name that is no token or belongs to the transport, or a value with \
                    control characters
                    """
                )
            }
            let value = HeaderRules.trimmed(header.value)
            // An empty value needs a special notation, because libcurl treats "Name:" as an order to omit the header.
            lines.append(value.isEmpty ? "\(header.name);" : "\(header.name): \(value)")
        }
        lines.append("Expect:")
        if !request.headers.contains(where: { HeaderRules.isContentType($0.name) }) { lines.append("Content-Type:") }
        return lines
    }
}
