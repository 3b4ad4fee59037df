import Cryptography
import Foundation
import Testing

@Suite("A process's memory")
struct ProcessMemoryTests {
    @Test("no core file is written, and the process says so of itself")
    func dumps() throws {
        let isGranted = ProcessMemory.forbidDumps()
        #expect(isGranted)
        let limits = try String(contentsOfFile: "/proc/self/limits", encoding: .utf8)
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        let core = try #require(line).split(separator: " ").dropFirst(4).prefix(2).map(String.init)
        #expect(core == ["0", "0"])
    }
}
