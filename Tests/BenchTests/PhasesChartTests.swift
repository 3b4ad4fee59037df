import Foundation
import ServiceRuntime
import Testing

@testable import Bench

@Suite("Chart of the phases")
struct PhasesChartTests {
    @Test("the chart is well-formed and has each phase with its relative rate and its delays")
    func draws() throws {
        let picture = Self.chart(calm: 14_502, disturbed: 4_242).svg
        #expect(try Self.elements(of: picture).count { $0 == "rect" } == 4)
        for word in [
            ">100 %<", ">14,502<", ">29 and 107 ms<", ">29 %<", ">4,242<", ">1,000,000 stored rows<", "load &lt; 2",
        ] { #expect(picture.contains(word), "no \(word)") }
        let colours = try #require(picture.range(of: "prefers-color-scheme: dark"))
        #expect(picture[colours.upperBound...].contains(".page"))
    }

    @Test("phases without events have no bar, and do not break the scale")
    func drawsNothing() throws {
        let picture = Self.chart(calm: 0, disturbed: 0).svg
        #expect(try Self.elements(of: picture).contains("circle"))
        #expect(!picture.contains("nan") && !picture.contains("inf"))
    }

    @Test("the distance of the lines is 1, 2 or 5 times a power of ten")
    func steps() {
        #expect(PhasesChart.niceStep(3) == 5)
        #expect(PhasesChart.niceStep(41) == 50)
        #expect(PhasesChart.niceStep(60) == 100)
        #expect(PhasesChart.niceStep(0) == 1)
        #expect(PhasesChart.grouped(1_234_567) == "1,234,567")
        #expect(PhasesChart.grouped(999) == "999")
    }

    @Test("a chart is written over an older one, and a folder without rights is an error before the run")
    func writes() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("chart-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("phases.svg").path
        try "older".write(toFile: path, atomically: true, encoding: .utf8)
        try ChartFile(path).remove()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "older")
        try ChartFile(path).write("<svg/>")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "<svg/>")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["phases.svg"])
        let failure = #expect(throws: CommandFailure.self) { try ChartFile(folder.path + "/none/phases.svg") }
        #expect(failure?.exitCode == .badInput)
    }

    private static func chart(calm: Double, disturbed: Double) -> PhasesChart {
        func phase(_ disturbance: Disturbance, _ rate: Double, _ delays: [Double]) -> PhaseFigures {
            PhaseFigures(
                disturbance: disturbance,
                eventsPerSecond: rate,
                share: calm > 0 ? rate / calm : 0,
                urgent: UrgentDelays(delays, delays.indices),
                deadRows: 1,
                logBytesPerEvent: 1_000,
                waits: []
            )
        }
        let phases = [
            phase(.none, calm, [29, 107]), phase(.readers, disturbed, [30, 194]), phase(.rows, disturbed, []),
        ]
        return PhasesChart(phases: phases, stored: 1_000_000, conditions: "load < 2")
    }

    /// Returns the names of the elements; requires that each is closed, in order.
    private static func elements(of picture: String) throws -> [String] {
        var (found, open): ([String], [String]) = ([], [])
        for piece in picture.split(separator: "<").filter({ !$0.allSatisfy(\.isWhitespace) }) {
            let end = try #require(piece.firstIndex(of: ">"), "\(piece)")
            let tag = piece[..<end]
            let name = String(tag.prefix { $0 != " " && $0 != "/" })
            if tag.hasPrefix("/") {
                try #require(open.popLast() == String(tag.dropFirst()), "\(piece)")
                continue
            }
            found.append(name)
            try #require(tag.count { $0 == "\"" }.isMultiple(of: 2), "\(piece)")
            if !tag.hasSuffix("/") { open.append(name) }
        }
        try #require(open.isEmpty, "\(open)")
        return found
    }
}
