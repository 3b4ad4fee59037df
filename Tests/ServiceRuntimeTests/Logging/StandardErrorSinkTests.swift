import Foundation
import ServiceRuntime
import TestSupport
import Testing

@Suite("Writing the log")
struct StandardErrorSinkTests {
    private func record(_ message: String) -> LogRecord {
        LogRecord(time: .epoch, level: .info, label: "test", process: 1, message: message, fields: [:])
    }

    private func makePipe() throws -> (reading: FileHandle, writing: Int32) {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        return (FileHandle(fileDescriptor: ends[0], closeOnDealloc: true), ends[1])
    }

    /// Returns everything that is in the pipe now.
    private func drain(_ handle: FileHandle) -> String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var request = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
        while poll(&request, 1, 0) > 0 {
            let count = read(handle.fileDescriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes every line fifty times, alternating between two sinks, which close their descriptors at the end.
    private func writeFifty(of messages: [String], to descriptor: Int32) async {
        let sinks = (0..<2).map { _ in StandardErrorSink(form: .text, descriptor: descriptor) }
        await withTaskGroup(of: Void.self) { group in
            for (index, text) in messages.enumerated() {
                group.addTask {
                    for _ in 0..<50 { sinks[index % 2].write(record(text)) }
                }
            }
        }
    }

    @Test("lines of many tasks and of two sinks on one pipe never mix")
    func interleaving() async throws {
        let (reading, writing) = try makePipe()
        let letters = "abcdefgh".map { String(repeating: $0, count: 3_500) }
        let text = await withCheckedContinuation { continuation in
            // A separate thread, because a reader in the pool could be starved by the writers that wait for it.
            NativeThread.start(named: "log-reader") {
                let bytes = (try? reading.readToEnd()) ?? Data()
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }
            Task {
                await writeFifty(of: letters, to: writing)
                close(writing)
            }
        }
        let bodies = text.split(separator: "\n").map { $0.split(separator: " ").last.map(String.init) ?? "" }
        #expect(bodies.count == 400)
        #expect(bodies.allSatisfy(letters.contains))
    }

    @Test("a stopped reader loses lines, receives their number later, and never blocks a writer permanently")
    func stalledReader() throws {
        let (reading, writing) = try makePipe()
        let sink = StandardErrorSink(form: .text, descriptor: writing)
        // A pipe holds 64 KiB; the flags of the shared descriptor must not change.
        for _ in 0..<200 { sink.write(record(String(repeating: "x", count: 1_000))) }
        #expect(fcntl(writing, F_GETFL) & O_NONBLOCK == 0)
        let held = drain(reading)
        #expect(held.hasSuffix("\n"))
        #expect(held.utf8.count < 200 * 1_000)
        sink.write(record("back again"))
        let after = drain(reading).split(separator: "\n").map { String($0.dropFirst(25)) }
        try #require(after.count == 2)
        #expect(after[0].hasPrefix("WARNING test[1] the log could not be written for a while  lost="))
        #expect(after[1] == "INFO    test[1] back again")
        close(writing)
    }

    @Test("a closed pipe ends neither the process nor the next line")
    func brokenPipe() throws {
        let (reading, writing) = try makePipe()
        let sink = StandardErrorSink(form: .json, descriptor: writing)
        try reading.close()
        sink.write(record("one"))
        sink.write(record("two"))
        close(writing)
    }

    @Test("a full disk only loses lines")
    func fullDisk() throws {
        let full = open("/dev/full", O_WRONLY)
        try #require(full >= 0)
        let sink = StandardErrorSink(form: .text, descriptor: full)
        sink.write(record("one"))
        sink.write(record("two"))
        close(full)
    }

    @Test("a socket whose peer does not read blocks no writer")
    func socket() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let sink = StandardErrorSink(form: .text, descriptor: ends[0])
        for _ in 0..<2_000 { sink.write(record(String(repeating: "y", count: 1_000))) }
        var byte: UInt8 = 0
        #expect(read(ends[1], &byte, 1) == 1)
        close(ends[0])
        close(ends[1])
    }

    @Test("a file's earlier content is kept, and lines are appended in order")
    func file() throws {
        try withTemporaryFile("before\n") { path in
            let descriptor = open(path, O_WRONLY | O_APPEND)
            let sink = StandardErrorSink(form: .text, descriptor: descriptor)
            sink.write(record("one"))
            sink.write(record("two"))
            close(descriptor)
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            #expect(lines.map { $0.split(separator: " ").last } == ["before", "one", "two"])
        }
    }
}
