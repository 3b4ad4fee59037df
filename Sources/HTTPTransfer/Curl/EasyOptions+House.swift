import CCurl

extension EasyOptions {
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
        // Without this, a hanging look-up would block its lane after the transfer until the resolver gives up.
        set(CURLOPT_QUICK_EXIT, true)
        set(CURLOPT_TCP_KEEPALIVE, true)
        set(CURLOPT_TCP_KEEPIDLE, 60)
        set(CURLOPT_TCP_KEEPINTVL, 20)
    }
}
