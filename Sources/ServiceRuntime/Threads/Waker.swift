import CLinux
import Glibc

/// Lets any thread end the sleep of another, which may wait for a socket at the same time.
///
/// Thread safety: the descriptor never changes and is closed with the last reference, so that no thread can write to a
/// number that was reassigned.
package final class Waker: Sendable {
    /// The descriptor for `poll` and `epoll`, which is readable from a wake to the next sleep.
    ///
    /// It is negative, which `poll` ignores, if the process had no descriptors left.
    package let descriptor: Int32

    /// The longest sleep in milliseconds of a thread that cannot be woken.
    private static let blindMilliseconds: Int32 = 500

    package init() { descriptor = eventfd(0, bellhop_eventfd_flags) }

    deinit { close(descriptor) }

    package func wake() { eventfd_write(descriptor, 1) }

    /// Clears the wake-up.
    package func hush() {
        var rings = eventfd_t()
        eventfd_read(descriptor, &rings)
    }

    /// The events that end a sleep in addition to a wake-up.
    package enum Interest {
        case nothing
        case reading(Int32)
        case readingAndWriting(Int32)
        case writing(Int32)
    }

    /// Sleeps until a wake-up, until the socket is ready, or for `span`.
    ///
    /// Returns whether the socket is readable, or broken, which reading will show.
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
