import Foundation
import ServiceRuntime
import TestSupport
import Testing

/// A service that signals its process when it runs.
private struct SelfSignalling: Service {
    let name = "self-signalling"
    let signal: ProcessSignal

    func run(until drain: DrainSignal) async throws {
        kill(getpid(), signal.number)
        await drain.wait()
    }
}

@Suite("Signals of the operating system", .limitedConcurrency, .serialized, .timeLimit(.ofTest))
struct ProcessSignalTests {
    @Test("a real SIGTERM and a real SIGINT drain a group", arguments: [ProcessSignal.terminate, .interrupt])
    func drains(signal: ProcessSignal) async {
        let group = ServiceGroup(
            [SelfSignalling(signal: signal)],
            drainTimeout: .seconds(20),
            logger: Logger(label: "test", sink: CapturedLog())
        )
        guard case .drained(.signal(signal)) = await group.run() else {
            Issue.record("ended otherwise")
            return
        }
    }

    @Test("every SIGHUP arrives, and the process continues")
    func hangup() async {
        var arrivals = ProcessSignal.arrivals(of: [.hangup]).makeAsyncIterator()
        for _ in 0..<3 {
            kill(getpid(), SIGHUP)
            #expect(await arrivals.next() == .hangup)
        }
    }

    @Test("writing to a pipe without a reader is an error and does not end the process")
    func brokenPipe() throws {
        ProcessSignal.ignoreBrokenPipes()
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        let count = write(ends[1], "x", 1)
        let code = errno
        #expect(count == -1)
        #expect(code == EPIPE)
        close(ends[1])
    }
}
