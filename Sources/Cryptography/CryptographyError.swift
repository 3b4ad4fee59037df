import COpenSSL

/// What went wrong inside OpenSSL, with everything its error queue had to say.
package struct CryptographyError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The operating system or OpenSSL could not provide random bytes.
        case randomUnavailable
        /// A key cannot be read, or is of a kind or size that is not used here.
        case invalidKey
        /// A signature could not be made.
        case signing
    }

    package let code: Code

    /// What was attempted, what came back and what to do; never key material.
    package let text: String

    package var description: String { text }

    init(_ code: Code, _ text: String) {
        self.code = code
        self.text = text
    }
}

/// OpenSSL's error queue of the calling thread.
enum OpenSSLErrors {
    /// Empties the queue and joins its entries, oldest first.
    ///
    /// The queue belongs to the thread: entries that are left behind would be told again by the next failure on it.
    static func drain() -> String {
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
