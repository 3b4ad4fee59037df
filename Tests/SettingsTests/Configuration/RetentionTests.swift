import ServiceRuntime
import Settings
import Testing

@Suite("Retention")
struct RetentionTests {
    private func faults(_ environment: [String: String]) -> [String] {
        guard case .failure(let faults) = BellhopConfiguration.read(environment: environment) else { return [] }
        return faults.faults.map(\.description)
    }

    @Test("configured periods apply to their kinds, and the default ones to the others")
    func partial() throws {
        let retention = try #require(Retention("events=never, tokens=40d"))
        #expect(retention[.events] == nil)
        #expect(retention[.tokens] == .seconds(40 * 86_400))
        #expect(retention[.notifications] == Retention.usual[.notifications])
        #expect(Retention(Retention.usual.text)?.text == Retention.usual.text)
        #expect(retention.text == "notifications=365d,events=never,tombstones=90d,tokens=40d")
    }

    @Test(
        "any other text is a fault",
        arguments: [
            "365d", "notifications", "notifications=", "notifications=1h", "notifications=3651d", "letters=90d",
            "events=90d,events=91d", "events=90d,", "events=-1d", "never",
        ]
    )
    func wrong(text: String) {
        #expect(Retention(text) == nil)
        let faults = faults(["BELLHOP_RETENTION": text])
        #expect(faults.count == 1)
    }

    @Test("every period that ends before the last possible replay is rejected, all of them together")
    func horizon() {
        let short = "notifications=31d,events=29d,tombstones=29d,tokens=29d"
        let faults = faults(["BELLHOP_RETENTION": short, "BELLHOP_BATCH": "0"])
        #expect(faults.count == 5)
        let expected = [
            "notifications=31d is too short, expected at least 32d", "events=29d is too short, expected at least 32d",
            "tombstones=29d is too short, expected at least 32d", "tokens=29d is too short, expected at least 32d",
        ]
        for words in expected {
            let isSaid = faults.contains { $0.hasPrefix("BELLHOP_RETENTION (environment): \(words)") }
            #expect(isSaid)
        }
        let says = faults.allSatisfy { $0.contains("BELLHOP_BATCH") || $0.contains("lower BELLHOP_REPLAY_HORIZON") }
        #expect(says)
    }

    @Test("a period that covers the horizon, the retries and one more day is accepted")
    func enough() {
        let least = "notifications=32d,events=32d,tombstones=32d,tokens=33d"
        #expect(faults(["BELLHOP_RETENTION": least]).isEmpty)
        // 99 delays of one day each.
        let patient = ["BELLHOP_RETRY_DELAYS": "1d", "BELLHOP_RETRY_LIMIT": "100", "BELLHOP_RETENTION": least]
        let faults = faults(patient)
        #expect(faults.count == 4)
        let says = faults.allSatisfy { $0.contains("at least 130d") }
        #expect(says)
    }

    @Test("default periods follow a longer horizon, and configured ones are rejected if they are too short")
    func longHorizon() throws {
        let patient = try BellhopConfiguration.read(environment: ["BELLHOP_REPLAY_HORIZON": "400d"]).get()
        #expect(patient.retention.text == "notifications=402d,events=402d,tombstones=402d,tokens=402d")
        let said = ["BELLHOP_REPLAY_HORIZON": "400d", "BELLHOP_RETENTION": "events=91d"]
        #expect(faults(said).count == 1)
        let never = "notifications=never,events=never,tombstones=never,tokens=never"
        #expect(faults(["BELLHOP_REPLAY_HORIZON": "400d", "BELLHOP_RETENTION": never]).isEmpty)
    }

    @Test("silent devices are revoked at a set hour of the night, or never")
    func stale() throws {
        let usual = try BellhopConfiguration.read(environment: [:]).get()
        #expect(usual.staleDevices == StaleDevicePolicy("90d,hour=3"))
        let other = try BellhopConfiguration.read(environment: ["BELLHOP_STALE_DEVICES": "60d, hour=4"]).get()
        #expect(other.staleDevices?.days == 60)
        #expect(other.staleDevices?.hour == 4)
        let never = try BellhopConfiguration.read(environment: ["BELLHOP_STALE_DEVICES": "never"]).get()
        #expect(never.staleDevices == nil)
    }

    @Test(
        "a silence is in whole days, and the hour is one of a day's",
        arguments: ["90", "0d", "-1d", "3651d", "2h", "90d,hour=24", "90d,4", "90d,hour=4,x", "hour=4", ","]
    )
    func wrongStale(text: String) {
        #expect(StaleDevicePolicy(text) == nil)
        let faults = faults(["BELLHOP_STALE_DEVICES": text])
        #expect(faults.count == 1)
    }
}
