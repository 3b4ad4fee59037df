import CCurl

/// Sets options on an easy handle and stores the first failure.
struct EasyOptions {
    let handle: UnsafeMutableRawPointer
    private(set) var failure: CURLcode = CURLE_OK

    init(_ handle: UnsafeMutableRawPointer) { self.handle = handle }

    mutating func set(_ option: CURLoption, _ value: Int) { keep(bellhop_easy_set_long(handle, option, value)) }

    mutating func set(_ option: CURLoption, _ value: Bool) {
        keep(bellhop_easy_set_long(handle, option, value ? 1 : 0))
    }

    /// Sets a timeout of at least one millisecond, because libcurl interprets zero as "no limit".
    mutating func set(_ option: CURLoption, milliseconds: Duration) {
        let (seconds, attoseconds) = milliseconds.components
        let bounded = min(max(seconds, 0), Int64(Int32.max) / 1000 - 1)
        let total = bounded * 1000 + max(attoseconds, 0) / 1_000_000_000_000_000
        keep(bellhop_easy_set_long(handle, option, Int(max(total, 1))))
    }

    /// Sets a text, which libcurl copies; `nil` restores the option's default.
    mutating func set(_ option: CURLoption, _ value: String?) { keep(bellhop_easy_set_string(handle, option, value)) }

    mutating func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        keep(bellhop_easy_set_pointer(handle, option, pointer))
    }

    /// Stores the first failure of a call that has no setter here.
    mutating func keep(_ result: CURLcode) {
        guard failure == CURLE_OK else { return }
        failure = result
    }

    /// Sets the options that every outgoing libcurl transfer must have.
    ///
    /// They require verified TLS 1.2 or later, ignore proxy and netrc settings of the environment, and avoid look-ups
    /// and signals that could delay or end other work.
    mutating func keepHouseRules(authoritiesFile: String?) {
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        set(CURLOPT_SSL_VERIFYPEER, true)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        if let authoritiesFile {
            set(CURLOPT_CAINFO, authoritiesFile)
            set(CURLOPT_CAPATH, nil)
        }
        set(CURLOPT_PROXY, "")
        set(CURLOPT_NETRC, bellhop_netrc_ignored)
        set(CURLOPT_NOSIGNAL, true)
        // Without this, a hanging look-up would block its connection after the transfer until the resolver gives up.
        set(CURLOPT_QUICK_EXIT, true)
        set(CURLOPT_TCP_KEEPALIVE, true)
        set(CURLOPT_TCP_KEEPIDLE, 60)
        set(CURLOPT_TCP_KEEPINTVL, 20)
    }
}
