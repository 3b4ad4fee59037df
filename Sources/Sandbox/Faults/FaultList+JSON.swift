import BellhopRules
import ServiceRuntime

extension FaultList.Entry {
    /// As it was set, with `fired` beside it.
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
    /// A number that may have a fraction; read back from its text, since the rules' JSON keeps numbers as texts.
    fileprivate static func number(_ value: Double) -> JSONValue {
        if let whole = Int(exactly: value) { return .whole(whole) }
        return (try? JSONParser().parse(Array("\(value)".utf8)).get()) ?? .null
    }
}
