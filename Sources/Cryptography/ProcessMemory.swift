import COpenSSL

/// The memory of this process, which holds keys and passwords while it runs.
package enum ProcessMemory {
    /// Keeps it out of core files, and from the debuggers of other processes of the same user, from now on.
    ///
    /// A program that this one starts has to say so for itself. Returns false where the system does not grant it.
    @discardableResult
    package static func forbidDumps() -> Bool { bellhop_forbid_dumps() == 1 }
}
