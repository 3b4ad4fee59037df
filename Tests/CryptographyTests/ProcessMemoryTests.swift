import Cryptography
import Foundation
import Testing

@Suite("A process's memory")
struct ProcessMemoryTests {
    @Test("the process forbids core files, and its core file limit is 0")
    func dumps() throws {
        let isGranted = ProcessMemory.forbidDumps()
        #expect(isGranted)
        let limits = try String(contentsOfFile: "/proc/self/limits", encoding: .utf8)
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
        let core = try #require(line).split(separator: " ").dropFirst(4).prefix(2).map(String.init)
        #expect(core == ["0", "0"])
    }
}
