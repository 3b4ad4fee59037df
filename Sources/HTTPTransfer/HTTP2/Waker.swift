import CNGHTTP2
import Glibc

/// Wakes a thread that waits in `poll`, from any thread.
final class Waker: Sendable {
    let descriptor: CInt

    /// Nil where the process has no descriptors left.
    init?() {
        descriptor = eventfd(0, bellhop_eventfd_flags)
        guard descriptor >= 0 else { return nil }
    }

    deinit {
        close(descriptor)
    }

    func wake() {
        eventfd_write(descriptor, 1)
    }

    /// Takes note of having been woken.
    func hush() {
        var rings = eventfd_t()
        eventfd_read(descriptor, &rings)
    }
}
