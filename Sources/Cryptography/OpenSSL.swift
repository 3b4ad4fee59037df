import COpenSSL

/// The process-wide settings of OpenSSL, which also apply to the C libraries in the process.
package enum OpenSSL {
    /// Keeps OpenSSL initialised until the end of the process; must be called before any other use of OpenSSL.
    ///
    /// Otherwise `exit` clears OpenSSL while threads still use it.
    package static func lastUntilTheEnd() {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
