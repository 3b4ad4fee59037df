import Testing

@testable import Pipeline

@Suite("Open parts of a batch")
struct OpenPartsTests {
    @Test("a message is done with its last part, and never where one of them is unfinished")
    func closing() {
        let parts = OpenParts(messages: 4, parts: [0, 1, 2, 3] + [1, 1, 2] + [3])
        #expect(parts.close([0, 1, 2, 3], unfinished: [3]) == [0])
        #expect(parts.close([1], unfinished: []).isEmpty)
        #expect(parts.close([1, 2], unfinished: []) == [1, 2])
        #expect(parts.close([3], unfinished: []).isEmpty)
    }
}
