import BellhopRules
import TestSupport
import Testing

/// Any input gives a catalogue that renders, or faults with their lines.
///
/// Rounds: BELLHOP_FUZZ_ROUNDS; seed: BELLHOP_FUZZ_SEED.
@Suite("Random catalogues")
struct CatalogFuzzTests {
    private static let pieces = [
        "{", "}", ",", "#", "'", "''", "'{'", "'}'", "'#'", " ", "\n", "a", "n", "b.c", "plural", "select", "number",
        "units", "short", "phrase", "one", "other", "few", "=0", "=1", "18", "offset:1", "å", "👩‍👩‍👧", "\u{2067}",
        "{n, plural, one {#} other {", "}}", "{a, select, x {", "{v, units, ", "{a, short}", "{p, phrase}", "\\",
    ]

    private static let values: [JSONValue] = [
        "1", 1, "", .null, true, "-0", "1e400", "1e-399", "00", "1.50", "x", [], [:], 0, 1_000_000, "0x12345678abcdef",
        "99999999999999999999999999999999999999", "-1.000000000000000000000000000000001", "🇳🇴🇳🇴🇳🇴🇳🇴🇳🇴🇳🇴🇳🇴",
    ]

    private static let languages = ["en", "nb", "pl", "ar", "lv", "ja", "sl", "xx", "de-CH"]

    @Test("a random template is read or rejected with a place, and renders or names its missing values")
    func templates() throws {
        var generator = SeededChance.announced("random templates")
        var readable = 0
        for _ in 0..<SeededChance.rounds(4000) {
            let count = Int.random(in: 1...14, using: &generator)
            let template = (0..<count).map { _ in Self.pieces.randomElement(using: &generator) ?? "" }.joined()
            let language = Self.languages.randomElement(using: &generator) ?? "en"
            let phrases: JSONObject = ["p": "[{a}]"]
            if let fault = TemplateSample.fault(template, language: language, phrases: phrases) {
                #expect(!fault.isEmpty && fault.utf8.count < 400, "\(template)")
                continue
            }
            readable += 1
            try fill(template, language, phrases, &generator)
        }
        #expect(readable > 0)
    }

    private func fill(
        _ template: String,
        _ language: String,
        _ phrases: JSONObject,
        _ generator: inout SeededChance
    ) throws {
        var data = JSONObject()
        for name in ["a", "n", "v", "one", "b"] {
            let value = Self.values.randomElement(using: &generator) ?? .null
            data[name] = name == "b" ? ["c": value] : value
        }
        switch try TemplateSample.render(template, data, language: language, phrases: phrases) {
        case .success: break
        case .failure(let rejection):
            #expect(rejection.pointer.text.hasPrefix("/"), "\(template)")
            #expect(rejection.message.utf8.count < 400, "\(template)")
        }
    }

    @Test("shipped catalogues with changed, removed and repeated bytes never crash", arguments: Repository.apps)
    func mutations(app: String) throws {
        var generator = SeededChance.announced("mutated catalogue of \(app)")
        let valid = try Repository.bytes("deploy/catalogs/\(app).json5")
        for _ in 0..<SeededChance.rounds(150) {
            var file = valid
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !file.isEmpty {
                let place = Int.random(in: 0..<file.count, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: file[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: file.remove(at: place)
                case 2: file.insert(contentsOf: file[place..<min(place + 40, file.count)], at: place)
                case 3: file[place] = Array("{}[],:\"'#".utf8).randomElement(using: &generator) ?? 0
                default: file.removeSubrange(place..<min(place + Int.random(in: 1...60, using: &generator), file.count))
                }
            }
            check(CatalogSet.load(files: [("\(app).json5", file)]))
        }
    }

    @Test("random documents with the reader's keys never crash")
    func documents() throws {
        var generator = SeededChance.announced("random catalogues")
        let keys = [
            "app", "language", "timezone", "providers", "aliases", "phrases", "link", "routes", "topics", "preferences",
            "quietHours", "digest", "android", "apns", "types", "priority", "label", "templates", "en", "title", "web",
        ]
        for _ in 0..<SeededChance.rounds(500) {
            var random = RandomJSON(generator: generator)
            var root: JSONObject = ["app": "a", "language": "en", "timezone": "UTC"]
            for key in keys where Bool.random(using: &random.generator) { root[key] = random.value(depth: 3) }
            var type: JSONObject = ["priority": "low", "label": ["en": "T"]]
            for key in keys where Bool.random(using: &random.generator) { type[key] = random.value(depth: 2) }
            if Bool.random(using: &random.generator) { root["types"] = ["t": .object(type)] }
            generator = random.generator
            check(CatalogSet.load(files: [("a.json5", JSONWriter.canonicalBytes(of: .object(root)))]))
        }
    }

    private func check(_ loaded: Result<CatalogSet, CatalogFaults>) {
        switch loaded {
        case .failure(let faults):
            #expect(!faults.faults.isEmpty)
            for fault in faults.faults {
                #expect(fault.line >= 1 && fault.column >= 1 && !fault.message.isEmpty)
            }
        case .success(let set):
            for catalog in set.catalogs {
                _ = catalog.renderDigest(titles: ["A", "B"], count: 5, language: nil)
                #expect(catalog.types.allSatisfy { catalog[$0.type]?.type == $0.type })
            }
        }
    }
}
