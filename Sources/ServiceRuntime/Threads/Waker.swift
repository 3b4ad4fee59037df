import CLinux
import Glibc

/// Lets any thread end the sleep of another, which may wait for a socket at the same time.
///
/// Thread safety: the descriptor never changes and is closed with the last reference, so nobody can write to a number
/// that has been given to somebody else.
package final class Waker: Sendable {
    /// Readable from a wake to the next sleep, for `poll` and `epoll`; negative, which `poll` passes over, where the
    /// process had no descriptors left.
    package let descriptor: Int32

    /// The longest sleep of a thread that cannot be woken.
    private static let blindMilliseconds: Int32 = 500

    package init() {
        descriptor = eventfd(0, bellhop_eventfd_flags)
    }

    deinit {
        close(descriptor)
    }

    package func wake() {
        eventfd_write(descriptor, 1)
    }

    /// Takes note of having been woken.
    package func hush() {
        var rings = eventfd_t()
        eventfd_read(descriptor, &rings)
    }

    /// What a sleep waits for beside being woken.
    package enum Interest {
        case nothing
        case reading(Int32)
        case readingAndWriting(Int32)
        case writing(Int32)
    }

    /// Sleeps until woken, until the socket is ready, or for `span`; says whether the socket is readable (or broken,
    /// which reading will tell).
    @discardableResult
    package func sleep(for span: Duration, _ interest: Interest = .nothing) -> Bool {
        var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        switch interest {
        case .nothing: break
        case .reading(let socket): polled.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0))
        case .writing(let socket): polled.append(pollfd(fd: socket, events: Int16(POLLOUT), revents: 0))
        case .readingAndWriting(let socket):
            polled.append(pollfd(fd: socket, events: Int16(POLLIN | POLLOUT), revents: 0))
        }
        let milliseconds = span.pollMilliseconds
        poll(&polled, nfds_t(polled.count), descriptor < 0 ? min(milliseconds, Self.blindMilliseconds) : milliseconds)
        if polled[0].revents != 0 { hush() }
        return polled.count > 1 && polled[1].revents & Int16(POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0
    }
}
