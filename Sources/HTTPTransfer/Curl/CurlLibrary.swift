import CCurl
import ServiceRuntime

/// The process-wide part of libcurl.
enum CurlLibrary {
    /// Whether libcurl has been initialised, which happens once, before any handle exists.
    ///
    /// Multi-threaded programs must set NOSIGNAL, and with it libcurl no longer protects its writes from SIGPIPE. The
    /// signal is therefore ignored for the whole process.
    static let isReady: Bool = {
        ProcessSignal.ignoreBrokenPipes()
        return curl_global_init(Int(CURL_GLOBAL_SSL)) == CURLE_OK
    }()
}
