import BellhopJSON
import Foundation
import TestSupport
import Testing

@Suite(
    "Bad days",
    .limitedProofConcurrency,
    .enabled(if: PrivateServers.areThere, "needs setpriv, RabbitMQ and PostgreSQL installed"),
    .timeLimit(.ofProof)
)
struct BadDayTests {
    @Test("however the servers are disturbed under full load, no event is lost and none is recorded twice")
    func phases() async throws {
        let chart = NSTemporaryDirectory() + Servers.uniqueName("phases") + ".svg"
        defer { try? FileManager.default.removeItem(atPath: chart) }
        try await PrivateServers.with { servers in
            try await Stage.with(servers.addresses) { stage in
                let log = try await stage.bellhop(
                    "bench",
                    "phases",
                    "--users",
                    "500",
                    "--seconds",
                    Proof.isFull ? "30" : "3",
                    "--stored",
                    "1000",
                    "--rate",
                    "20/s",
                    "--chart",
                    chart,
                    "--json"
                )
                let start = try #require(log.firstIndex(of: "{"), "no report: \(log)")
                let report = try JSONParser().parse(Array(log[start...].utf8)).get()
                let phases = try #require(report["phases"]?.array)
                let names: [String?] = [
                    "none", "snapshot", "readers", "sessions", "ends", "checkpoints", "neighbour", "rows", "recovered",
                ]
                let found = phases.map { $0["phase"]?.string }
                #expect(found == names)
                for phase in phases {
                    let urgent = phase["urgent"]?["events"]?.number?.int64 ?? 0
                    let hasFigures =
                        phase["eventsPerSecond"]?.number != nil && phase["deadRows"]?.number != nil
                        && phase["relativeRate"]?.number != nil
                    #expect(urgent > 0 && hasFigures, "\(phase)")
                }
                #expect(report["verification"]?["passed"] == true, "\(log)")
                let picture = try String(contentsOfFile: chart, encoding: .utf8)
                #expect(picture.hasPrefix("<svg") && picture.contains(">1,000 stored rows<"))
            }
        }
    }
}
