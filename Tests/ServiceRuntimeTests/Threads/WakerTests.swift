import Foundation
import ServiceRuntime
import Testing

@Suite("Threads that wait for each other", .timeLimit(.ofTest))
struct WakerTests {
    @Test("a wake ends a sleep, and several wakes count once")
    func wakes() async {
        let waker = Waker()
        let ending = Completion()
        NativeThread.start(named: "sleeper") {
            waker.sleep(for: .seconds(600))
            ending.complete()
        }
        waker.wake()
        await ending.wait()
        waker.wake()
        waker.wake()
        #expect(Self.isReadable(waker))
        waker.sleep(for: .seconds(600))
        #expect(!Self.isReadable(waker))
    }

    @Test("a ready socket ends a sleep, which returns whether it is readable")
    func sockets() {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return }
        defer { for end in ends { close(end) } }
        let waker = Waker()
        #expect(!waker.sleep(for: .seconds(600), .writing(ends[0])))
        #expect(!waker.sleep(for: .zero, .reading(ends[0])))
        write(ends[1], "x", 1)
        #expect(waker.sleep(for: .seconds(600), .reading(ends[0])))
        #expect(waker.sleep(for: .seconds(600), .readingAndWriting(ends[0])))
    }

    @Test("a past completion is not waited for, and a missing one is waited for until the limit")
    func completion() async {
        let ending = Completion()
        await ending.wait(within: .milliseconds(1))
        async let first: Void = ending.wait()
        async let second: Void = ending.wait(within: .seconds(600))
        ending.complete()
        await first
        await second
        await ending.wait()
    }

    private static func isReadable(_ waker: Waker) -> Bool {
        var entry = pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 1
    }
}
