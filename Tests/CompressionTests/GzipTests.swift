import Compression
import Testing

@Suite("Gzip")
struct GzipTests {
    @Test("compressed bytes expand to the original", arguments: [0, 1, 1023, 1024, 400_000])
    func roundTrip(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 / 7) }
        let packed = try #require(Gzip.compressed(bytes))
        #expect(packed.starts(with: [0x1F, 0x8B, 8]))
        #expect(Gzip.expanded(packed, atMost: max(1, count)) == bytes)
    }

    @Test("more effort makes a text smaller")
    func effort() throws {
        let text = (0..<5_000).map { "row \($0 * $0 % 977), column \($0 % 31)" }.joined(separator: "\n")
        let quick = try #require(Gzip.compressed(Array(text.utf8)))
        let small = try #require(Gzip.compressed(Array(text.utf8), effort: .high))
        #expect(small.count < quick.count)
        #expect(Gzip.expanded(small, atMost: text.utf8.count) == Array(text.utf8))
    }

    @Test("random bytes, which cannot shrink, expand to the original")
    func noise() throws {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        let bytes = (0..<100_000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
        let packed = try #require(Gzip.compressed(bytes))
        #expect(Gzip.expanded(packed, atMost: bytes.count) == bytes)
    }

    @Test("gzip of another program is expanded")
    func foreign() {
        let hello: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0,
        ]
        #expect(Gzip.expanded(hello, atMost: 5) == Array("hello".utf8))
    }

    @Test("compressed bytes that would expand beyond the limit are rejected")
    func limit() throws {
        let packed = try #require(Gzip.compressed(Array(repeating: 0, count: 1_000_000)))
        #expect(packed.count < 5_000)
        #expect(Gzip.expanded(packed, atMost: 999_999) == nil)
        #expect(Gzip.expanded(packed, atMost: 1_000_000)?.count == 1_000_000)
    }

    @Test("truncated or damaged gzip, gzip with trailing bytes, and any other data are rejected")
    func damage() throws {
        let packed = try #require(Gzip.compressed(Array("a text that is long enough to be worth it".utf8)))
        #expect(Gzip.expanded([], atMost: 100) == nil)
        #expect(Gzip.expanded(Array("plain text".utf8), atMost: 100) == nil)
        for end in 0..<packed.count { #expect(Gzip.expanded(Array(packed[..<end]), atMost: 100) == nil) }
        #expect(Gzip.expanded(packed + [0], atMost: 100) == nil)
        var damaged = packed
        damaged[damaged.count - 6] ^= 0xFF
        #expect(Gzip.expanded(damaged, atMost: 100) == nil)
    }
}
