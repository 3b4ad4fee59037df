import TestSupport
import Testing

@testable import API

@Suite("The elements of a batch")
struct EventBatchTests {
    private func elements(_ text: String) -> [String]? {
        EventBatch.elements(of: Array(text.utf8))?.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("elements keep their bytes, whatever strings and nested values contain")
    func elements() {
        #expect(elements("[]") == [])
        #expect(elements(" [ \n ] ") == [])
        #expect(elements("[1]") == ["1"])
        #expect(
            elements(#"[{"a": [1, 2]} , {"b":"],}\"["}, null ]"#) == [#"{"a": [1, 2]}"#, #"{"b":"],}\"["}"#, "null"]
        )
        #expect(elements(#"["\\", "x"]"#) == [#""\\""#, #""x""#])
    }

    @Test("an empty place is an element that no parser accepts")
    func gaps() {
        #expect(elements("[1,]") == ["1", ""])
        #expect(elements("[,]") == ["", ""])
    }

    @Test("a text that is not one array is refused")
    func refused() {
        for text in ["", " ", "{}", "[", "]", "[1", "[1]]", "[1][2]", "[}", #"["]"#, "[{]", "[1] 2"] {
            #expect(elements(text) == nil, "\(text)")
        }
    }
}
