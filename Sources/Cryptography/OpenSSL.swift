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

/// OpenSSL's error queue of the calling thread.
package enum OpenSSLErrors {
    /// Empties the queue and joins its entries, oldest first.
    ///
    /// The queue belongs to the thread. Remaining entries would be reported again with the next failure on it.
    package static func drain() -> String {
        var entries: [String] = []
        while true {
            let code = ERR_get_error()
            guard code != 0 else { break }
            entries.append(text(of: code))
        }
        return entries.isEmpty ? "OpenSSL gave no reason" : entries.joined(separator: "; ")
    }

    private static func text(of code: UInt) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress else { return "error \(code)" }
            ERR_error_string_n(code, start, buffer.count)
            return String(cString: start)
        }
    }
}

/// The memory of this process, which contains keys and passwords at run time.
package enum ProcessMemory {
    /// Excludes the memory from core files, and from the debuggers of other processes of the same user, from now on.
    ///
    /// A program that this process starts must do the same itself. Returns false if the system does not permit it.
    @discardableResult
    package static func forbidDumps() -> Bool { bellhop_forbid_dumps() == 1 }
}
