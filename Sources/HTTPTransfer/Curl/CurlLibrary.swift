import CCurl
import ServiceRuntime

/// The process-wide part of libcurl.
enum CurlLibrary {
    /// Prepares libcurl once, before any handle exists; false if it could not be.
    ///
    /// With NOSIGNAL, which programs with threads must set, libcurl no longer shields its writes from SIGPIPE, so the
    /// signal is ignored for the process.
    static let isReady: Bool = {
        ProcessSignal.ignoreBrokenPipes()
        return curl_global_init(Int(CURL_GLOBAL_SSL)) == CURLE_OK
    }()
}
