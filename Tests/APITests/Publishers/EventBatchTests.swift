import TestSupport
import Testing

@testable import API

@Suite("The elements of a batch")
struct EventBatchTests {
    private func elements(_ text: String, atMost limit: Int = 10) -> [String]? {
        EventBatch.elements(of: Array(text.utf8), atMost: limit)?.map { String(decoding: $0, as: UTF8.self) }
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

    @Test("of more elements than the limit, only one more is read")
    func limited() {
        #expect(elements("[1,2,3]", atMost: 3) == ["1", "2", "3"])
        #expect(elements("[1,2,3,4]", atMost: 3) == ["1", "2", "3", "4"])
        #expect(elements("[1,2,3,4,5,6,7]", atMost: 3) == ["1", "2", "3", "4"])
        // The rest may be anything: the call is refused for its number of events.
        #expect(elements("[1,2,3,4,5,{", atMost: 3) == nil)
        #expect(elements("[1,2,3,4,5,{]", atMost: 3) == ["1", "2", "3", "4"])
    }

    @Test("a text that is not one array is refused")
    func refused() {
        for text in ["", " ", "{}", "[", "]", "[1", "[1]]", "[1][2]", "[}", #"["]"#, "[{]", "[1] 2"] {
            #expect(elements(text) == nil, "\(text)")
        }
    }
}
