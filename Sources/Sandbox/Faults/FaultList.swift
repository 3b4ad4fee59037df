import BellhopRules
import ServiceRuntime
import Synchronization

/// The configured faults in order.
///
/// Of the faults that match a request, the first that its rate and its count allow is applied.
final class FaultList: Sendable {
    /// A fault, and the number of requests it was applied to.
    struct Entry: Sendable, Equatable {
        let fault: SandboxFault
        var fired = 0

        var isOver: Bool { fault.count.map { fired >= $0 } ?? false }
    }

    private struct State {
        var entries: [Entry] = []
        var chance: SplitMix
    }

    private let state: Mutex<State>

    /// - Parameter seed: the same seed and the same requests give the same faults.
    init(seed: UInt64) { state = Mutex(State(chance: SplitMix(seed: seed))) }

    var entries: [Entry] { state.withLock(\.entries) }

    func replace(with faults: [SandboxFault]) {
        state.withLock { $0.entries = faults.map { Entry(fault: $0) } }
    }

    /// Returns the fault for a request and counts it.
    func take(_ provider: ProviderName, token: String?, path: String, phase: DialoguePhase? = nil) -> SandboxFault? {
        state.withLock { state in
            for index in state.entries.indices {
                let entry = state.entries[index]
                let isMeant = entry.fault.matches(provider, token: token, path: path, phase: phase)
                guard !entry.isOver, isMeant else { continue }
                guard entry.fault.rate >= 1 || state.chance.unit() < entry.fault.rate else { continue }
                state.entries[index].fired += 1
                return entry.fault
            }
            return nil
        }
    }
}

extension FaultList.Entry {
    /// The fault in the form in which it was set, with `fired` added.
    var json: JSONValue {
        var object: JSONObject = [
            "provider": .string(fault.provider.rawValue), "rate": .number(fault.rate), "fired": .whole(fired),
        ]
        object["match"] = fault.match.map(JSONValue.string)
        object["count"] = fault.count.map(JSONValue.whole)
        let milliseconds = fault.delay.microseconds / 1_000
        if milliseconds > 0 { object["delayMs"] = .whole(Int(milliseconds)) }
        object["phase"] = fault.phase.map { .string($0.rawValue) }
        switch fault.effect {
        case .delay: break
        case .drip(let interval): object["dripMs"] = .whole(Int(interval.microseconds / 1_000))
        case .drop: object["drop"] = true
        case .partial: object["partial"] = true
        case .reset: object["reset"] = true
        case .goAway: object["goAway"] = true
        case .answer(let answer):
            object["status"] = .whole(answer.status)
            object["reason"] = answer.reason.map(JSONValue.string)
            object["retryAfter"] = answer.retryAfter.map(JSONValue.string)
        }
        return .object(object)
    }
}

extension JSONValue {
    /// Returns a number that may have a fraction.
    ///
    /// It is parsed from its text because the rules' JSON stores numbers as text.
    fileprivate static func number(_ value: Double) -> JSONValue {
        if let whole = Int(exactly: value) { return .whole(whole) }
        return (try? JSONParser().parse(Array("\(value)".utf8)).get()) ?? .null
    }
}
