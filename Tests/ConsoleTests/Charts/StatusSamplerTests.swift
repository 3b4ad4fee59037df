import BellhopJSON
import Testing

@testable import Console

@Suite("Figures for charts")
struct StatusSamplerTests {
    /// The status report of a second, such as `"20"`.
    private static func status(_ second: String, recorded: [Int], stored: [Int]? = nil) throws -> JSONValue {
        let moment = "2026-11-22T20:00:\(second).000Z"
        let spans = (stored ?? Array(repeating: 0, count: 15)).map(String.init).joined(separator: ",")
        let processes = recorded.enumerated().map { place, count in
            """
            {"id": "w\(place)", "role": "worker", "seenAt": "\(moment)",
             "figures": {"recorded": [\(count)], "stored": [\(spans)]}}
            """
        }
        let text = """
            {"at": "\(moment)", "processes": [\(processes.joined(separator: ","))],
             "lanes": [{"lane": "urgent", "ready": 4}, {"lane": "__proto__", "ready": 9}],
             "deliveries": {"owed": 7, "overdue": 0}, "deadLetters": {"open": 3},
             "backlogs": [{"waiting": 5, "oldestAt": "2026-11-22T19:59:00.000Z"}]}
            """
        return try JSONParser().parse(Array(text.utf8)).get()
    }

    @Test("a rate covers all workers between two reports, and a worker that restarted does not reduce it")
    func rates() throws {
        var reader = StatusSampler()
        let first = reader.read(try Self.status("10", recorded: [100, 50]))
        #expect(first?.values["recorded"] == nil, "one report has no rate")
        #expect(first?.values["urgent"] == 4 && first?.values["owed"] == 7 && first?.values["deadLetters"] == 3)
        #expect(first?.values["backlog"] == 5 && first?.values["backlogAge"] == 70 && first?.values["workers"] == 2)
        let second = reader.read(try Self.status("20", recorded: [300, 150]))
        #expect(second?.values["recorded"] == 30)
        let same = reader.read(try Self.status("20", recorded: [300, 150]))
        #expect(same?.values["recorded"] == 30, "what was said last stays until something newer is said")
        let third = reader.read(try Self.status("30", recorded: [0, 160]))
        #expect(third?.values["recorded"] == 1)
    }

    @Test("a report soon after the previous one does not show the rate of a moment")
    func moments() throws {
        var reader = StatusSampler()
        _ = reader.read(try Self.status("10", recorded: [0]))
        let usual = reader.read(try Self.status("20", recorded: [100]))
        #expect(usual?.values["recorded"] == 10)
        let soon = reader.read(try Self.status("21", recorded: [1_100]))
        #expect(soon?.values["recorded"] == 10)
        let next = reader.read(try Self.status("30", recorded: [1_100]))
        #expect(next?.values["recorded"] == 100)
    }

    @Test("an invalid status yields no point, and a point has no value for missing data")
    func unseen() throws {
        var reader = StatusSampler()
        #expect(reader.read([:]) == nil)
        let point = reader.read(["at": "2026-11-22T20:00:00.000Z", "processes": .null, "deadLetters": .null])
        #expect(point?.values.isEmpty == true)
        let nulls = StatusSample.names.map { _ in "null" }.joined(separator: ",")
        let row = "[1795377600000,\(nulls)]"
        #expect(point?.json == row)
    }
}
