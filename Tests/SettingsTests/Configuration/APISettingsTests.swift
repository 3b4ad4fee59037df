import ServiceRuntime
import Settings
import Testing

@Suite("Settings of the inbox API")
struct APISettingsTests {
    private func read(_ environment: [String: String]) -> Result<BellhopConfiguration, ConfigurationFaults> {
        BellhopConfiguration.read(environment: environment)
    }

    @Test("unset settings allow any issuer and no origin, with the default audience and rates")
    func defaults() throws {
        let configuration = try read([:]).get()
        #expect(configuration.jwtAudience == "bellhop")
        #expect(configuration.jwtIssuer == nil)
        #expect(configuration.apiOrigins.isEmpty)
        #expect(configuration.apiRate == CallRates(user: 20, address: 200))
    }

    @Test(
        "rates are read in any order, either may be omitted, and their text reads back",
        arguments: [
            ("user=5/s,address=50/s", CallRates(user: 5, address: 50)),
            ("address=off", CallRates(user: 20, address: nil)), ("off", CallRates(user: nil, address: nil)),
            ("address=7/s,user=off", CallRates(user: nil, address: 7)),
            ("publisher=9/s", CallRates(user: 20, address: 200, publisher: 9)),
        ]
    )
    func rates(text: String, rates: CallRates) throws {
        #expect(try read(["BELLHOP_API_RATE": text]).get().apiRate == rates)
        #expect(CallRates(rates.text) == rates)
    }

    @Test(
        "invalid rates and origins are faults",
        arguments: [
            ("BELLHOP_API_RATE", "user=0/s"), ("BELLHOP_API_RATE", "user=5"), ("BELLHOP_API_RATE", "user=1/s,user=2/s"),
            ("BELLHOP_API_RATE", "everybody=1/s"), ("BELLHOP_API_ORIGINS", "*"),
            ("BELLHOP_API_ORIGINS", "https://a.example,*"), ("BELLHOP_API_ORIGINS", "https://a.example/"),
            ("BELLHOP_API_ORIGINS", "app.example.com"), ("BELLHOP_API_ORIGINS", "https://A.example"),
            ("BELLHOP_API_ORIGINS", "https://u:p@a.example"), ("BELLHOP_API_ORIGINS", "null"),
        ]
    )
    func faults(name: String, value: String) {
        guard case .failure(let found) = read([name: value]) else {
            Issue.record("\(value) was read")
            return
        }
        #expect(found.faults.map(\.key) == [name])
    }

    @Test("origins are read exactly, except for spaces between them")
    func origins() throws {
        let text = "https://app.example.com, http://localhost:3000"
        let origins = try read(["BELLHOP_API_ORIGINS": text]).get().apiOrigins.map(\.text)
        #expect(origins == ["https://app.example.com", "http://localhost:3000"])
    }

    @Test("limits of connections read back from their text")
    func connections() {
        #expect(ConnectionLimits("total=20000,address=off") == ConnectionLimits(total: 20_000, address: nil))
        #expect(ConnectionLimits("address=9")?.total == ConnectionLimits.usual.total)
        #expect(ConnectionLimits(ConnectionLimits.usual.text) == .usual)
        for text in ["", "total=off", "total=0", "address=1,address=2", "users=3", "total"] {
            #expect(ConnectionLimits(text) == nil, "\(text)")
        }
    }
}
