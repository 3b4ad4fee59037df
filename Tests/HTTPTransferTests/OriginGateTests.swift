import HTTPTransfer
import Testing

@Suite("The gate of an origin")
struct OriginGateTests {
    private let start = ContinuousClock.now
    private var gate = OriginGate(connections: 2, streams: 3)

    @Test("lets one request through first, and the others when that one has been answered")
    mutating func probe() throws {
        #expect(gate.admit(now: start) == .probe)
        #expect(gate.admit(now: start) == nil)
        gate.leave(.probe, .answered(.http2), now: start)
        #expect(admitAll(at: start) == 6)
        #expect(gate.inFlight == 6)
    }

    @Test("opens after a failed probe too, so that many failures do not queue up")
    mutating func failedProbe() {
        #expect(gate.admit(now: start) == .probe)
        gate.leave(.probe, .failed(isUnknown: false), now: start)
        #expect(admitAll(at: start) == 6)
    }

    @Test("probes again when the probe was given up")
    mutating func abandonedProbe() {
        #expect(gate.admit(now: start) == .probe)
        gate.leave(.probe, .none, now: start)
        #expect(gate.admit(now: start) == .probe)
    }

    @Test("gives each connection one request where the peer speaks HTTP/1.1")
    mutating func http1() {
        #expect(gate.admit(now: start) == .probe)
        gate.leave(.probe, .answered(.http1), now: start)
        #expect(admitAll(at: start) == 2)
    }

    @Test("probes again after a second of silence, not before")
    mutating func silence() {
        _ = gate.admit(now: start)
        gate.leave(.probe, .answered(.http2), now: start)
        #expect(gate.admit(now: start + .seconds(1)) == .ordinary)
        gate.leave(.ordinary, .answered(.http2), now: start + .seconds(1))
        #expect(gate.admit(now: start + .milliseconds(2001)) == .probe)
        #expect(gate.admit(now: start + .milliseconds(2001)) == nil)
    }

    @Test("probes again when a request was lost, even while others are in flight")
    mutating func lostRequest() {
        _ = gate.admit(now: start)
        gate.leave(.probe, .answered(.http2), now: start)
        #expect(gate.admit(now: start) == .ordinary)
        #expect(gate.admit(now: start) == .ordinary)
        gate.leave(.ordinary, .failed(isUnknown: true), now: start)
        #expect(gate.admit(now: start) == .probe)
        gate.leave(.ordinary, .answered(.http2), now: start)
        #expect(gate.admit(now: start) == nil)
        gate.leave(.probe, .answered(.http2), now: start)
        #expect(gate.admit(now: start) == .ordinary)
    }

    @Test("stays open when a request was not sent")
    mutating func unsentRequest() {
        _ = gate.admit(now: start)
        gate.leave(.probe, .answered(.http2), now: start)
        #expect(gate.admit(now: start) == .ordinary)
        gate.leave(.ordinary, .failed(isUnknown: false), now: start)
        #expect(gate.admit(now: start) == .ordinary)
    }

    private mutating func admitAll(at now: ContinuousClock.Instant) -> Int {
        var count = 0
        while count < 100, gate.admit(now: now) == .ordinary { count += 1 }
        return count
    }
}
