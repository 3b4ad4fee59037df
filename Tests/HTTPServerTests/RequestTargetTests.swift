import HTTPServer
import Testing

@Suite("Request target")
struct RequestTargetTests {
    @Test(
        "a path is split before it is decoded",
        arguments: [
            ("/", [""]), ("/a/b", ["a", "b"]), ("/a%20b/c", ["a b", "c"]), ("/a%2Fb", ["a/b"]), ("/a/", ["a", ""]),
            ("//a", ["", "a"]), ("/%C3%A9", ["é"]), ("/a+b", ["a+b"]), ("/é", ["é"]), ("/..%2f..", ["../.."]),
            ("http://host/a?b", ["a"]), ("HTTP://host", [""]), ("/%3Fx", ["?x"]),
            ("https://host?b", [""]), ("/a/\u{301}b", ["a", "\u{301}b"]),
        ]
    )
    func segments(text: String, expected: [String]) {
        #expect(RequestTarget(text)?.segments == expected)
    }

    @Test(
        "a target that cannot be decoded is rejected",
        arguments: [
            "", "a", "*", "/%", "/%4", "/%zz", "/%+1", "/%00", "/a%00b", "/%ff", "/%C3", "/%ED%A0%80", "/a b",
            "/a\u{7f}",
            "/?a=%", "/?%zz=1", "/?a=%00", "/?a=%ff", "ftp://host/a", "/a\nb",
        ]
    )
    func refused(text: String) {
        #expect(RequestTarget(text) == nil)
    }

    @Test("a query keeps its order, repetitions and empty values")
    func query() throws {
        let target = try #require(RequestTarget("/p?b=2&a=1+1&a=%2B&empty=&bare&&x=y=z?"))
        #expect(target.query.map(\.name) == ["b", "a", "a", "empty", "bare", "x"])
        #expect(target.query.map(\.value) == ["2", "1 1", "+", "", "", "y=z?"])
        let request = HTTPRequest(method: "GET", target: target)
        #expect(request.query("a") == "1 1")
        #expect(request.query("bare") == "")
        #expect(request.query("absent") == nil)
    }

    @Test("header names ignore case, and repeated headers are joined")
    func headers() {
        var headers: HTTPHeaders = ["Content-Type": "a", "X-One": "1"]
        headers.add("x-one", "2")
        #expect(headers["content-TYPE"] == "a")
        #expect(headers["X-ONE"] == "1, 2")
        #expect(headers.values(of: "x-One") == ["1", "2"])
        headers["X-one"] = "3"
        #expect(headers["x-one"] == "3")
        headers["x-one"] = nil
        #expect(headers["x-one"] == nil)
    }
}
