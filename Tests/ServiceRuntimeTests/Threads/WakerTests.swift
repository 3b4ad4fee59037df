import Foundation
import ServiceRuntime
import Testing

@Suite("Threads that wait for one another", .timeLimit(.ofTest))
struct WakerTests {
    @Test("a sleep ends with a wake, which counts once, however often it was made")
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

    @Test("a sleep ends when the socket is ready, and says whether there is something to read")
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

    @Test("an end that was there before is not waited for, and one that does not come for as long as is allowed")
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
