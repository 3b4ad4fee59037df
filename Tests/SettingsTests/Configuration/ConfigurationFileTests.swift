import Foundation
import ServiceRuntime
import Settings
import TestSupport
import Testing

@Suite("The settings file")
struct ConfigurationFileTests {
    @Test(
        "a faulty file is one fault with its place",
        arguments: [
            ("{\n  batch: 12,\n  log: info\n}", "line 3, column 8"), ("[1]", "found an array"),
            ("{batch: {x: 1}}", "line 1, column 2: /batch: found an object"), ("", "line 1, column 1"),
            ("{batch: null}", "/batch: found null"), ("{lanes: [['urgent']]}", "/lanes: found an array"),
            ("{batch: 1, batch: 2}", "line 1, column 12"), ("{batch: Infinity}", "line 1, column 9"),
            ("\u{FEFF}{}", "byte order mark"), ("{log: 'a\nb'}", "line 1, column 9"),
        ]
    )
    func file(text: String, found: String) throws {
        try withTemporaryFile(text) { path in
            guard case .failure(let faults) = BellhopConfiguration.read(environment: [:], file: path) else {
                Issue.record("no fault")
                return
            }
            #expect(faults.faults.count == 1)
            #expect(faults.description.contains(found), "\(faults)")
        }
    }

    @Test("a missing file, a binary file or a folder is one fault")
    func unreadable() throws {
        for path in ["/nowhere/bellhop.json5", "/etc", "/bin/sh"] {
            guard case .failure(let faults) = BellhopConfiguration.read(environment: ["BELLHOP_CONFIG": path]) else {
                Issue.record("no fault for \(path)")
                continue
            }
            #expect(faults.faults.count == 1)
            #expect(faults.description.contains(path))
        }
    }

    @Test("every value of another form is a fault, in the order of the lines")
    func forms() throws {
        try withTemporaryFile("{\n  log: {},\n  lease: '60s',\n  batch: null,\n}") { path in
            guard case .failure(let faults) = BellhopConfiguration.read(environment: [:], file: path) else {
                Issue.record("no fault")
                return
            }
            let places = faults.faults.map { $0.found.prefix { $0 != "," } }
            #expect(places == ["line 2", "line 4"])
        }
    }

    @Test("a text cut at any place is a fault, and deep nesting does not crash")
    func hostile() throws {
        let text = "{namespace: 'x\\n', /* c */ log: ['a', 'b'], // d\n batch: \"f\"}"
        let texts = (0..<text.count).map { String(text.prefix($0)) } + [String(repeating: "[", count: 100_000), "'\\"]
        for text in texts {
            try withTemporaryFile(text) { path in
                guard case .failure(let faults) = BellhopConfiguration.read(environment: [:], file: path) else {
                    Issue.record("no fault in \(text.prefix(80))")
                    return
                }
                #expect(faults.faults.first?.key == "BELLHOP_CONFIG")
            }
        }
    }
}
