import BellhopJSON
import Testing

@Suite("JSON Pointer")
struct JSONPointerTests {
    private let document: JSONValue = [
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 2, "~1": 3, "to": ["users": ["u1", "u2"]],
    ]

    @Test(
        "the examples of RFC 6901 lead to their values",
        arguments: [
            ("/foo", ["bar", "baz"] as JSONValue), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/m~0n", 2), ("/~01", 3),
            ("/to/users/1", "u2"),
        ]
    )
    func resolves(text: String, value: JSONValue) throws {
        #expect(try #require(JSONPointer(text)).value(in: document) == value)
    }

    @Test("the root is the document itself")
    func root() {
        #expect(JSONPointer.root.value(in: document) == document)
        #expect(JSONPointer("") == .root)
    }

    @Test(
        "pointers to missing places give nil",
        arguments: ["/none", "/foo/2", "/foo/-1", "/foo/00", "/foo/x", "/foo/0/1"]
    )
    func missing(text: String) throws {
        #expect(try #require(JSONPointer(text)).value(in: document) == nil)
    }

    @Test("ill-formed pointers are rejected", arguments: ["foo", "/a~", "/a~2", "/~~0"])
    func refuses(text: String) {
        #expect(JSONPointer(text) == nil)
    }

    @Test("steps are escaped in the text and unescaped in the list")
    func steps() {
        let pointer = JSONPointer.root.key("a/b").key("~").index(3).key("")
        #expect(pointer.text == "/a~1b/~0/3/")
        #expect(pointer.steps == ["a/b", "~", "3", ""])
    }
}
