import COpenSSL

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
