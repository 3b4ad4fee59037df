import Cryptography
import Testing

@Suite("SHA-256 of a stream")
struct SHA256StreamTests {
    @Test("pieces of any size yield the digest of the whole, and the stream starts again afterwards")
    func pieces() {
        let whole = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        let stream = SHA256Stream()
        for size in [1, 63, 64, 65, 999, 1000] {
            for start in stride(from: 0, to: whole.count, by: size) {
                whole[start..<min(start + size, whole.count)].withUnsafeBytes { stream.add($0) }
            }
            let digest = stream.finish()
            #expect(digest == SHA256.digest(of: whole))
        }
        let nothing = stream.finish()
        #expect(nothing == SHA256.digest(of: []))
    }
}
