import Foundation
import ServiceRuntime
import Testing

@testable import Bench

@Suite("Process figures of the kernel")
struct ProcessTableTests {
    private let own = Int(getpid())

    @Test("the processor time of the test process grows with work, and its memory is known")
    func readsOurselves() throws {
        let before = try #require(ProcessTable.processorTime(of: own))
        var after = before
        var sum: UInt64 = 0
        while after <= before {
            for number in 0..<1_000_000 as Range<UInt64> { sum &+= number &* number }
            after = try #require(ProcessTable.processorTime(of: own))
        }
        #expect(after > before && sum > 0)
        let memory = try #require(ProcessTable.memory(of: own))
        #expect(memory.now > 1_000_000 && memory.peak >= memory.now)
        #expect(ProcessTable.parent(of: own) == Int(getppid()))
    }

    @Test("the end of a child is reported with its exit code or its signal, and not with the wait status")
    func endOfChild() {
        #expect(BenchChild.words(ChildExit(waitStatus: 78 << 8)) == "it ended with exit code 78")
        #expect(BenchChild.words(ChildExit(waitStatus: 0)) == "it ended with exit code 0")
        #expect(BenchChild.words(ChildExit(waitStatus: 11)) == "it was killed by SIGSEGV")
        // The bit for a core dump is not part of the signal.
        #expect(BenchChild.words(ChildExit(waitStatus: 0x80 | 6)) == "it was killed by SIGABRT")
    }

    @Test("the process that listens on a port is found, and none if no process listens")
    func findsListeners() throws {
        let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { plain in
                bind(socket, plain, length) == 0 && getsockname(socket, plain, &length) == 0
            }
        }
        try #require(isBound)
        let port = Int(UInt16(bigEndian: address.sin_port))
        #expect(ProcessTable.listener(onPort: port) == nil)
        try #require(listen(socket, 1) == 0)
        #expect(ProcessTable.listener(onPort: port) == own)

        var heir = pid_t()
        var arguments = [strdup("sleep"), strdup("60"), nil]
        defer { arguments.forEach { free($0) } }
        try #require(posix_spawn(&heir, "/bin/sleep", nil, nil, &arguments, environ) == 0)
        defer {
            kill(heir, SIGKILL)
            waitpid(heir, nil, 0)
        }
        #expect(ProcessTable.listener(onPort: port) == own, "also while a child holds the socket")
    }

    @Test("a missing process has neither time nor memory")
    func knowsNothingOfNobody() {
        #expect(ProcessTable.processorTime(of: 1 << 30) == nil)
        #expect(ProcessTable.memory(of: 1 << 30) == nil)
        #expect(ProcessTable.parent(of: 1 << 30) == nil)
    }
}
