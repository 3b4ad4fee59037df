import Foundation

/// The limit of files and sockets that the process may have open.
package enum OpenFiles {
    /// Raises the limit to the maximum that needs no privileges, and returns the resulting limit.
    @discardableResult
    package static func raiseLimit() -> UInt64 {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        if limit.rlim_cur < limit.rlim_max {
            var wanted = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted) == 0 { return UInt64(wanted.rlim_cur) }
        }
        return UInt64(limit.rlim_cur)
    }
}
