import CCurl

extension EasyOptions {
    /// What holds for whatever leaves the house through libcurl: TLS as it should be, nothing out of the environment, and
    /// no look-up or signal that could hold up or end anybody else.
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
        // A look-up that hangs would otherwise hold its lane when the transfer ends, until the resolver gives up.
        set(CURLOPT_QUICK_EXIT, true)
        set(CURLOPT_TCP_KEEPALIVE, true)
        set(CURLOPT_TCP_KEEPIDLE, 60)
        set(CURLOPT_TCP_KEEPINTVL, 20)
    }
}
