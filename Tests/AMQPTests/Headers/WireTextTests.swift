import TestSupport
import Testing

@testable import AMQP

@Suite("Text on the wire")
struct WireTextTests {
    @Test("valid UTF-8 is read unchanged", arguments: ["", "abc", "grüße", "🔔", "a\0b", "\u{10FF7F}"])
    func valid(text: String) {
        #expect(Array(text.utf8).withUnsafeBytes { String(wire: $0) } == text)
        #expect(text.withWireBytes { Array($0) } == Array(text.utf8))
    }

    @Test(
        "bytes that are not UTF-8 are preserved",
        arguments: [
            [0xff], [0x61, 0xc3], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf4, 0x8f, 0xbe, 0x80], [0xf4, 0x8f, 0xbf, 0xbf],
            [0xf4, 0x90, 0x80, 0x80], [0xf0, 0x9f, 0x94], [0x80, 0x00, 0xfe], [0xf4, 0x8f, 0xbe],
        ] as [[UInt8]]
    )
    func invalid(bytes: [UInt8]) {
        let text = bytes.withUnsafeBytes { String(wire: $0) }
        #expect(text.withWireBytes { Array($0) } == bytes)
        #expect(!text.unicodeScalars.contains("\u{FFFD}"))
    }

    @Test("any bytes are unchanged after reading and writing, and different bytes give different texts")
    func anything() {
        let seed = UInt64.random(in: 1...UInt64.max)
        var chance = SeededChance(seed)
        let likely: [UInt8] = [0xf4, 0x8f, 0xbe, 0xbf, 0x80, 0xff, 0xc3, 0xa9, 0x41]
        var seen: [[Unicode.Scalar]: [UInt8]] = [:]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...6, using: &chance)).map { _ in likely.randomElement(using: &chance) ?? 0
            }
            let text = bytes.withUnsafeBytes { String(wire: $0) }
            #expect(text.withWireBytes { Array($0) } == bytes, "seed \(seed)")
            let known = seen.updateValue(bytes, forKey: Array(text.unicodeScalars))
            #expect(known == nil || known == bytes, "seed \(seed)")
        }
    }
}
