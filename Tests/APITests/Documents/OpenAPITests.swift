import API
import BellhopJSON
import Testing

@Suite("docs/openapi.yaml")
struct OpenAPITests {
    private let document = OpenAPIDocument.shipped

    @Test("the document lists every route and method of the API, and no other")
    func routes() {
        let served = Set(InboxAPI.routes.map { "\($0.method) \($0.path)" })
        #expect(document.operations == served)
    }

    @Test("every route documents its answers to bad tokens, too many calls and failures")
    func commonAnswers() {
        for (method, path) in InboxAPI.routes {
            let responses = document.operation(method, path)?["responses"]?.object
            let codes = Set(responses?.members.map(\.key) ?? [])
            let signedIn: Set<String> = ["400", "401", "403", "422", "429", "503"]
            let files: Set<String> = ["200", "304", "429"]
            let open: Set<String> = InboxAPI.pages.contains(path) ? files : ["400", "429", "503"]
            let common = path.hasPrefix("/api/") ? signedIn : open
            #expect(common.isSubset(of: codes), "\(method) \(path)")
        }
    }

    @Test("every reference resolves, and every schema is used")
    func references() {
        var found: [String] = []
        Self.references(in: document.root, into: &found)
        for reference in Set(found) {
            let value = JSONPointer(String(reference.dropFirst()))?.value(in: document.root)
            #expect(value != nil, "\(reference)")
        }
        let schemas = document.root["components"]?["schemas"]?.object?.members.map { "#/components/schemas/\($0.key)" }
        let unused = Set(schemas ?? []).subtracting(found)
        #expect(schemas?.isEmpty == false)
        #expect(unused.isEmpty)
    }

    private static func references(in value: JSONValue, into found: inout [String]) {
        for element in value.array ?? [] { references(in: element, into: &found) }
        for member in value.object?.members ?? [] {
            if member.key == "$ref", let text = member.value.string { found.append(text) }
            references(in: member.value, into: &found)
        }
    }
}
