import COpenSSL

/// The memory of this process, which contains keys and passwords at run time.
package enum ProcessMemory {
    /// Excludes the memory from core files, and from the debuggers of other processes of the same user, from now on.
    ///
    /// A program that this process starts must do the same itself. Returns false if the system does not permit it.
    @discardableResult
    package static func forbidDumps() -> Bool { bellhop_forbid_dumps() == 1 }
}
