import COpenSSL

/// What all of a process has of OpenSSL, the C libraries under us among it.
package enum OpenSSL {
    /// Leaves it to the end of the process to clear OpenSSL away; to be called before anything else uses it.
    ///
    /// Otherwise `exit` does so, under the feet of threads that are at work until the very end.
    package static func lastUntilTheEnd() {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
