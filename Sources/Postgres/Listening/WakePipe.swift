import Glibc

/// Wakes a thread that sleeps in `poll`.
///
/// Once woken it stays so.
///
/// Thread safety: both descriptors are constants until `deinit`, and `write` on a pipe is atomic.
final class WakePipe: Sendable {
    /// Becomes readable with the first call of `wake`.
    let reader: Int32
    private let writer: Int32

    /// Nil when the process has no descriptors left.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reader = ends[0]
        writer = ends[1]
    }

    deinit {
        close(reader)
        close(writer)
    }

    func wake() {
        var byte: UInt8 = 1
        _ = write(writer, &byte, 1)
    }
}
