import CCurl

extension TransferRequest {
    /// The method, host and port: the only text about a request that may appear in an error.
    var attempt: String { "\(method.rawValue) to \(endpoint)" }

    /// Host and port as libcurl parses the URL, with the scheme's default port.
    private var endpoint: String {
        let unreadable = "an unreadable URL"
        guard let parsed = curl_url() else { return unreadable }
        defer { curl_url_cleanup(parsed) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME)
        guard curl_url_set(parsed, CURLUPART_URL, url, flags) == CURLUE_OK,
            let host = part(CURLUPART_HOST, of: parsed, flags: 0)
        else { return unreadable }
        guard let port = part(CURLUPART_PORT, of: parsed, flags: UInt32(CURLU_DEFAULT_PORT)) else { return host }
        return "\(host):\(port)"
    }

    private func part(_ part: CURLUPart, of url: OpaquePointer, flags: UInt32) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(url, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
