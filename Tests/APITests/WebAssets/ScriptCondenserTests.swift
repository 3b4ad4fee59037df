import API
import Testing

@Suite("Condensing of scripts and styles")
struct ScriptCondenserTests {
    @Test(
        "a script loses comments, indentation and spaces, and keeps its strings and its meaning",
        arguments: [
            ("// a\nlet a = { b: 1 };\n", "let a={b:1};"),
            ("/**\n * doc\n */\nf(a, b);", "f(a,b);"),
            ("if (a) {\n  b();\n}\nc();", "if(a){b()}c();"),
            ("return \"a\"\nb", "return\"a\"\nb"),
            ("x = a + +b - -c;", "x=a+ +b- -c;"),
            ("say(\"a, { b }\", 'c ; d');", "say(\"a, { b }\",'c ; d');"),
            (#"say("a \" , b");"#, #"say("a \" , b");"#),
            ("`a , ${ b ? `x , ${ {c: 1} } , y` : \"\" } , d`;", "`a , ${b?`x , ${{c:1}} , y`:\"\"} , d`;"),
            (#"`\${ a } , $ { b }` + c ;"#, #"`\${ a } , $ { b }`+c;"#),
            ("a.split(/ , [/ ] \\/ /) ;", "a.split(/ , [/ ] \\/ /);"),
            ("return /a , b/.test(c);", "return /a , b/.test(c);"),
            ("a = b / c , d / e;", "a=b / c,d / e;"),
            ("const f = async (a) => a in b;", "const f=async(a)=>a in b;"),
        ]
    )
    func script(written: String, served: String) {
        #expect(String(decoding: ScriptCondenser.script(Array(written.utf8)), as: UTF8.self) == served)
    }

    @Test(
        "a style sheet keeps the spaces between selectors and values",
        arguments: [
            (".a .b { c: d e; }\n", ".a .b{c:d e}"),
            ("/* x */\n.a > .b,\n.c :hover {\n  d: e\n    f;\n}\n.g { h: i }", ".a>.b,.c :hover{d:e f}.g{h:i}"),
            ("@media (a: b) and (c: d) { .e { f: g(1 + 2); } }", "@media (a:b) and (c:d){.e{f:g(1 + 2)}}"),
        ]
    )
    func style(written: String, served: String) {
        #expect(String(decoding: ScriptCondenser.style(Array(written.utf8)), as: UTF8.self) == served)
    }
}
