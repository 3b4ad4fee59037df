import AMQP
import Synchronization
import Testing

@testable import Pipeline

@Suite("Open messages of a batch")
struct OpenMessagesTests {
    /// Returns four messages, and the indices of the acknowledged ones, call by call.
    private static func four() -> (messages: OpenMessages, calls: @Sendable () -> [[Int]]) {
        let broker = MemoryBroker()
        let tags = (0..<4).map { _ in broker.arriving([], from: "q", by: "x", "k").tag }
        let calls = Calls()
        let messages = OpenMessages(tags) { acknowledged in
            calls.add(acknowledged.compactMap { tags.firstIndex(of: $0) })
        }
        return (messages, { calls.all })
    }

    private final class Calls: Sendable {
        private let state = Mutex<[[Int]]>([])
        var all: [[Int]] { state.withLock { $0 } }
        func add(_ call: [Int]) { state.withLock { $0.append(call) } }
    }

    @Test("a message is done with its last part, and never if one of them was given up")
    func closing() {
        let (messages, calls) = Self.four()
        messages.open([1, 1, 2, 3])
        messages.giveUp([3])
        #expect(messages.stored())
        messages.close([1])
        messages.close([1, 2])
        messages.close([3])
        messages.acknowledgeIdle()
        #expect(calls() == [[0], [1, 2]])
    }

    @Test(
        "no message is done before all is stored, and messages without open parts are done with the first that ends"
    )
    func idle() {
        let (messages, calls) = Self.four()
        messages.open([0, 2])
        messages.close([0])
        #expect(calls().isEmpty)
        #expect(messages.stored())
        messages.close([2])
        #expect(calls() == [[2, 0, 1, 3]])
        messages.acknowledgeIdle()
        #expect(calls().count == 1)
    }
}
