import TestSupport
import Testing

/// The check that targets import what Package.swift declares, on a package made for it.
@Suite("deploy/check-imports", .limitedConcurrency, .timeLimit(.ofTest))
struct CheckImportsTests {
    private static let table = """
        ## Targets

        | target | purpose | imports |
        |---|---|---|
        | `Lower` | stones | nothing |
        | `Middle` | walls | Lower |
        | `Upper` | roofs | Middle |

        """

    /// Returns the result for a target `Upper` with these imports, which depends on `Middle`, and this on `Lower`.
    private static func check(
        _ imports: String,
        table: String = Self.table
    ) throws -> (output: String, code: Int32) {
        let manifest = """
            // swift-tools-version: 6.0
            import PackageDescription
            let package = Package(
                name: "checked",
                targets: [
                    .target(name: "Lower"), .target(name: "Middle", dependencies: ["Lower"]),
                    .target(name: "Upper", dependencies: ["Middle"]),
                ]
            )
            """
        return try CheckedCheckout.run(
            "deploy/check-imports",
            on: [
                "Package.swift": manifest, "CONTRIBUTING.md": table, "Sources/Lower/A.swift": "import Foundation\n",
                "Sources/Middle/B.swift": "package import Lower\n", "Sources/Upper/C.swift": imports,
            ]
        )
    }

    @Test("declared imports pass, in every form, and comments do not count")
    func declared() throws {
        let forms = ["import Middle", "@testable import Middle", "package import struct Middle.Stone"]
        for form in forms {
            let result = try Self.check("// import Lower\n\(form)\n")
            #expect(result.code == 0 && result.output.isEmpty, "\(result.output)")
        }
    }

    @Test("an import that only another dependency brings along fails, and a dependency without an import, too")
    func differences() throws {
        let transitive = try Self.check("import Middle\nimport Lower\n")
        #expect(transitive.code == 1)
        let undeclared = "Upper       imports Lower, which Package.swift does not declare (Sources/Upper/C.swift)\n"
        #expect(transitive.output == undeclared)
        let unused = try Self.check("import Foundation\n")
        #expect(unused.code == 1)
        #expect(unused.output == "Upper       declares Middle and does not import it\n")
    }

    @Test(
        "the table of targets has every target, in the order of their layers, with the dependencies of Package.swift",
        arguments: [
            ("| `Upper` | roofs | Middle |\n", "", "Upper is not in the table of CONTRIBUTING.md"),
            (
                "| Middle |", "| Middle, Lower |",
                "Upper imports Lower in the table of CONTRIBUTING.md and not in Package.swift"
            ),
            (
                "| walls | Lower |", "| walls | nothing |",
                "Middle imports Lower in Package.swift and not in the table of CONTRIBUTING.md"
            ),
            ("`Lower` |", "`Lower` `Cellar` |", "Cellar is in the table of CONTRIBUTING.md and not in Package.swift"),
            (
                "| `Lower` | stones | nothing |\n| `Middle` | walls | Lower |",
                "| `Middle` | walls | Lower |\n| `Lower` | stones | nothing |",
                "Middle imports Lower, which does not stand above it in the table of CONTRIBUTING.md"
            ),
        ] as [(String, String, String)]
    )
    func documented(present: String, changed: String, fault: String) throws {
        let table = Self.table.replacing(present, with: changed)
        #expect(table != Self.table)
        let result = try Self.check("import Middle\n", table: table)
        #expect(result.code == 1)
        #expect(result.output == "targets     \(fault)\n")
    }
}
