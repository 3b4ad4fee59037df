import BellhopRules
import IntegrationSupport
import TestSupport
import Testing

@testable import Store

@Suite("The kinds of dead letters in a group or a selection")
struct DeadLetterCompositionTests {
    @Test("different errors with an apostrophe inside a word are different groups")
    func apostrophe() {
        let template = DeadLetterFingerprint.normalised("the app's template needs 3 values: found 'x' and \"it's\"")
        #expect(template == "the app's template needs # values: found '…' and '…'")
        #expect(DeadLetterFingerprint.normalised("the app's catalogue is old") != template)
        #expect(DeadLetterFingerprint.normalised("expected 'a") == "expected ")
    }

    @Test("corrected copies of one reason are one group, whatever their originals are")
    func copies() {
        func copy(_ id: String, _ reason: String) -> String {
            DeadLetterFingerprint.of(DeadLetterCause(.desk, reason: reason, error: "the corrected copy of \(id)"))
        }
        #expect(copy("c4e645d9-47b048f8", "unknown-type") == copy("aa-bb", "unknown-type"))
        #expect(copy("c4e645d9-47b048f8", "unknown-type") != copy("c4e645d9-47b048f8", "missing-id"))
    }

    @Test("at most five kinds are named, the largest first, and the others are counted")
    func tally() {
        let causes = (1...7).flatMap { kind -> [DeadLetterCause] in
            (0..<kind).map { _ in DeadLetterSamples.rejected("x", app: "app\(kind)").cause }
        }
        let composition = DeadLetterComposition(of: causes)
        #expect(composition.parts.map(\.app) == ["app7", "app6", "app5", "app4", "app3"])
        #expect(composition.parts.map(\.items) == [7, 6, 5, 4, 3])
        #expect(composition.otherParts == 2)
        #expect(composition.otherItems == 3)
    }

    @Test("the number of kinds in memory is limited, since apps and types of rejected messages are arbitrary")
    func bounded() {
        let composition = DeadLetterComposition(
            of: (0..<3_000).map { DeadLetterSamples.rejected("x", app: "a\($0)").cause }
        )
        #expect(composition.parts.count == 5)
        #expect(composition.otherParts == 996)
        #expect(composition.otherItems == 2_995)
    }

    @Test(
        "the table gives the same kinds as a tally in memory, by selection and by group",
        .enabled(if: Servers.databaseURL != nil, "needs BELLHOP_DATABASE_URL")
    )
    func same() async throws {
        let error = "the app's template needs a value"
        let counts: [(app: String?, items: Int)] = [("drop", 6), ("venues", 3), (nil, 1)]
        let letters = counts.flatMap { app, items -> [DeadLetterItem] in
            (0..<items).map {
                DeadLetterSamples.rejected("\(app ?? "")\($0)", reason: "invalid-field", app: app, error: error)
            }
        }
        try await DeadLetterTable.with(letters) { admin in
            let composition = try await admin.composition(DeadLetterFilter())
            #expect(composition == DeadLetterComposition(of: letters.map(\.cause)))
            let groups = try await admin.groups(DeadLetterFilter()).groups
            #expect(groups.map(\.composition) == [composition])
            var filter = DeadLetterFilter()
            filter.app = "nobody"
            let none = try await admin.composition(filter)
            #expect(none == .empty)
        }
    }
}
