import BellhopRules
import CLI
import Operations
import ServiceRuntime

/// The results of one server for one route.
struct APIResult: Sendable {
    let route: APIRequests.Route
    let server: String
    /// Of the turns at full load.
    private var rates: [Double] = []
    private var costs: [Double] = []
    /// At half of the server's maximum rate.
    var halfLoad: APILoad.Outcome?

    init(route: APIRequests.Route, server: String) {
        self.route = route
        self.server = server
    }

    /// Adds one turn at full load, for which the server used `processor` seconds of processor time.
    mutating func add(_ outcome: APILoad.Outcome, processor: Double) {
        rates.append(outcome.perSecond)
        costs.append(outcome.answered > 0 ? processor / Double(outcome.answered) * 1e6 : 0)
    }

    /// The median of the turns.
    var perSecond: Double { Quantile.of(rates.sorted(), 0.5) }

    /// Microseconds of the server's processor time per call, as the median of the turns.
    var cost: Double { Quantile.of(costs.sorted(), 0.5) }

    var text: String {
        let half = halfLoad.map { ", p99 \($0.p(0.99).text(digits: 2)) ms at \($0.perSecond.text(digits: 0))/s" } ?? ""
        let figures = "\(perSecond.text(digits: 0)) calls per second, \(cost.text(digits: 1)) µs of processor each"
        return "\(route.words), \(server)".padding(to: 36) + figures + half
    }

    var json: JSONValue {
        .members([
            ("route", .string(route.rawValue)), ("server", .string(server)),
            ("requestsPerSecond", .decimal(perSecond, digits: 1)),
            ("cpuMicrosecondsPerRequest", .decimal(cost, digits: 2)),
            ("p50AtHalfLoad", .decimal(halfLoad?.p(0.5) ?? 0, digits: 3)),
            ("p99AtHalfLoad", .decimal(halfLoad?.p(0.99) ?? 0, digits: 3)),
            ("halfLoadPerSecond", .decimal(halfLoad?.perSecond ?? 0, digits: 1)),
        ])
    }

    /// Our result divided by the peer's, for one route.
    struct Ratios: Sendable {
        let route: APIRequests.Route
        let requests: Double
        let cost: Double

        var text: String {
            "\(route.words), against the peer".padding(to: 36)
                + "\(requests.text(digits: 2)) × the calls, \(cost.text(digits: 2)) × the processor time each"
        }

        var json: JSONValue {
            .members([
                ("route", .string(route.rawValue)), ("requests", .decimal(requests, digits: 3)),
                ("cpu", .decimal(cost, digits: 3)),
            ])
        }
    }

    static func ratios(_ results: [APIResult]) -> Ratios? {
        guard results.count == 2, results[1].perSecond > 0, results[1].cost > 0 else { return nil }
        return Ratios(
            route: results[0].route,
            requests: results[0].perSecond / results[1].perSecond,
            cost: results[0].cost / results[1].cost
        )
    }
}
