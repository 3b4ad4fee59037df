import Foundation
import TestSupport
import Testing

/// Compares the path of an event in docs/code-structure.md with the sources.
@Suite("The path of an event")
struct EventPathTests {
    private static let page = try? String(contentsOf: Checkout.file("docs/code-structure.md"), encoding: .utf8)

    /// The section with the path, and the section with its doors.
    private static func sections() throws -> (path: String, doors: String) {
        let text = try #require(page)
        let parts = text.components(separatedBy: "## Path of an event")
        try #require(parts.count == 2)
        let sections = parts[1].components(separatedBy: "### Doors")
        try #require(sections.count == 2)
        return (sections[0], sections[1].components(separatedBy: "\n## ")[0])
    }

    /// The names in code spans.
    private static func spans(_ text: String) -> [String] {
        text.matches(of: /`([A-Za-z0-9\/+]+)`/).map { String($0.1) }
    }

    /// Returns the code of a file: without comments and texts, but with the interpolations of texts.
    private static func code(_ file: URL) throws -> String {
        let source = try String(contentsOf: file, encoding: .utf8)
        let uncommented = source.replacing(/\/\/[^\n]*/, with: "")
        return uncommented.replacing(/"(?:\\.|[^"\\\n])*"/) { text in
            text.output.matches(of: /\\\(([^)]*)\)/).map { String($0.1) }.joined(separator: " ")
        }
    }

    /// Returns the folder of each type that is declared at the top of a file, without the types of commands and tools.
    private static func declarations() throws -> [String: Set<String>] {
        let targets = [
            "AMQP", "BellhopJSON", "BellhopRules", "HTTPTransfer", "Pipeline", "Postgres", "Push", "ServiceRuntime",
            "Settings", "Store", "TLS", "Tracing",
        ]
        let modifiers = /^(?:(?:package|public|private|fileprivate|final|indirect)\s+)*/
        var found: [String: Set<String>] = [:]
        for target in targets {
            let folder = Checkout.file("Sources/\(target)")
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter {
                $0.hasSuffix(".swift")
            }
            for file in files {
                for line in try code(folder.appendingPathComponent(file)).split(separator: "\n") {
                    let rest = line.trimmingPrefix(modifiers)
                    guard let type = rest.prefixMatch(of: /(?:struct|class|enum|actor|protocol|typealias) ([A-Z]\w*)/)
                    else { continue }
                    found[String(type.1), default: []].insert("\(target)/\(file)")
                }
            }
        }
        return found
    }

    @Test("the page lists 39 files, and each of them exists")
    func files() throws {
        let files = Self.spans(try Self.sections().path).filter { $0.contains("/") }
        #expect(files.count == 39)
        #expect(Set(files).count == 39)
        for file in files {
            let path = Checkout.file("Sources/\(file).swift").path
            #expect(FileManager.default.fileExists(atPath: path), "\(file)")
        }
    }

    @Test("each type that these files use is in one of them, behind a door, or a value")
    func types() throws {
        let (path, doors) = try Self.sections()
        let files = Self.spans(path).filter { $0.contains("/") }.map { $0 + ".swift" }
        let listed = Set(Self.spans(doors))
        let declared = try Self.declarations()
        var named: Set<String> = []
        for file in files {
            let code = try Self.code(Checkout.file("Sources/\(file)"))
            for name in Set(code.matches(of: /\b[A-Z]\w*/).map { String($0.output) }) {
                guard let places = declared[name], places.isDisjoint(with: files) else { continue }
                named.insert(name)
                let isBehindDoor = places.contains { place in
                    listed.contains { $0 == place.prefix { $0 != "/" } || place.hasPrefix("\($0)/") }
                }
                #expect(listed.contains(name) || isBehindDoor, "\(name), used in \(file)")
            }
        }
        // A type that the path no longer uses must not stay on the page.
        let types = listed.filter { declared[$0] != nil }
        #expect(types.subtracting(named).isEmpty, "\(types.subtracting(named))")
    }
}
