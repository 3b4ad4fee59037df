import ServiceRuntime
import TestSupport
import Testing

@testable import AMQP
@testable import Roles

@Suite("The log of connections to the broker")
struct BrokerConnectionLogTests {
    private static let names = ["publisher", "urgent", "normal", "bulk"]

    private func refusal(_ code: AMQPError.Code) -> ConnectionEvent {
        .disconnected(AMQPError(code, "cannot connect"), retryIn: .seconds(10))
    }

    @Test("an outage is one warning for each kind of error, whatever the number of connections and attempts")
    func outage() {
        let log = CapturedLog()
        let connections = BrokerConnectionLog(logger: Logger(label: "worker", sink: log))
        let observers = Self.names.map(connections.observer)
        for observe in observers { observe(.connected(host: "h")) }
        for observe in observers { observe(refusal(.connectionLost)) }
        for _ in 0..<20 {
            for observe in observers { observe(refusal(.unreachable)) }
        }
        for observe in observers { observe(.connected(host: "h")) }
        let told = log.records.map { "\($0.level) \($0.label)" }
        let starts = Self.names.map { "notice \($0)" }
        #expect(told == starts + ["warning publisher", "warning publisher", "notice bulk"])
    }

    @Test("the next outage is a warning again, and a connection that the process closes is none")
    func next() {
        let log = CapturedLog()
        let connections = BrokerConnectionLog(logger: Logger(label: "worker", sink: log))
        let (first, second) = (connections.observer(of: "a"), connections.observer(of: "b"))
        first(refusal(.unreachable))
        second(refusal(.unreachable))
        first(.connected(host: "h"))
        second(.disconnected(AMQPError(.connectionLost, "closing"), retryIn: nil))
        first(refusal(.unreachable))
        let told = log.records.map { "\($0.level) \($0.label)" }
        #expect(told == ["warning a", "info b", "warning a"])
    }
}
