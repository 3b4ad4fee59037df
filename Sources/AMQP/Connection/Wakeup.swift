import CRabbitMQ
import Glibc

/// Lets any thread end the sleep of a connection's thread, which waits for its socket at the same time.
///
/// Thread safety: the descriptor never changes and is closed with the last reference, so nobody can write to a number
/// that has been given to somebody else.
final class Wakeup: Sendable {
    private let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    }

    deinit {
        close(descriptor)
    }

    func ring() {
        eventfd_write(descriptor, 1)
    }

    /// What a sleep waits for beside being woken.
    enum Interest {
        case nothing
        case reading(Int32)
        case readingAndWriting(Int32)
        case writing(Int32)
    }

    /// Sleeps until rung, until the socket is ready, or for `milliseconds`; says whether the socket is readable (or
    /// broken, which reading will tell).
    func sleep(milliseconds: Int, _ interest: Interest = .nothing) -> Bool {
        var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        switch interest {
        case .nothing: break
        case .reading(let socket): polled.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0))
        case .writing(let socket): polled.append(pollfd(fd: socket, events: Int16(POLLOUT), revents: 0))
        case .readingAndWriting(let socket):
            polled.append(pollfd(fd: socket, events: Int16(POLLIN | POLLOUT), revents: 0))
        }
        poll(&polled, nfds_t(polled.count), Int32(clamping: max(0, milliseconds)))
        if polled[0].revents != 0 {
            var count = eventfd_t()
            eventfd_read(descriptor, &count)
        }
        return polled.count > 1 && polled[1].revents & Int16(POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0
    }
}
