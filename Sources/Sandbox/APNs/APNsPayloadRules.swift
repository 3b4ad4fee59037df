import BellhopRules

/// The rules of APNs for a request's body.
enum APNsPayloadRules {
    private static let longest = 4_096
    private static let longestOfCalls = 5_120

    /// Returns the first violation.
    ///
    /// Every payload that would show nothing on a device counts as an empty payload.
    static func refusal(_ body: [UInt8], pushType: String?) -> APNsRefusal? {
        guard !body.isEmpty else { return empty("there is no body") }
        guard body.count <= (pushType == "voip" ? longestOfCalls : longest) else {
            return APNsRefusal(413, "PayloadTooLarge", "the body has \(body.count) bytes")
        }
        let parsed = try? JSONParser().parse(body).get()
        guard let payload = parsed?.object else { return empty("the body is not a JSON object") }
        guard let aps = payload["aps"]?.object else { return empty("the body has no dictionary aps") }
        if let fault = ApsRules.faults(in: aps).first { return empty(fault) }
        let isVisible = ["alert", "badge", "sound"].contains { aps[$0] != nil }
        switch pushType {
        case "alert" where !isVisible: return empty("an alert without alert, badge and sound")
        case "background" where isVisible || aps["content-available"] == nil:
            return empty("a background push has content-available and neither alert, badge nor sound")
        default: return nil
        }
    }

    private static func empty(_ why: String) -> APNsRefusal {
        APNsRefusal(400, "PayloadEmpty", why)
    }
}

/// The rules for the members of `aps`, which apply to every payload for Apple's devices, whichever provider carries it.
///
/// Apple accepts most errors in these members and shows nothing. An emulator that did the same would hide the error.
struct ApsRules {
    private(set) var faults: [String] = []

    /// Returns every error in the members' types and values, one sentence for each.
    static func faults(in aps: JSONObject) -> [String] {
        var rules = ApsRules()
        for member in aps.members { rules.check(member.key, member.value) }
        return rules.faults
    }

    private static let levels: Set<String> = ["passive", "active", "time-sensitive", "critical"]
    private static let alertTexts: Set<String> = [
        "title", "subtitle", "body", "launch-image", "title-loc-key", "subtitle-loc-key", "loc-key",
    ]
    private static let alertLists: Set<String> = ["title-loc-args", "subtitle-loc-args", "loc-args"]

    private mutating func check(_ key: String, _ value: JSONValue) {
        switch key {
        case "alert": checkAlert(value)
        case "sound": checkSound(value)
        case "badge": expect(Self.isWhole(value, 0...Int64(Int32.max)), key, "a number that is not negative")
        case "content-available": expect(Self.isWhole(value, 1...1), key, "1")
        case "mutable-content": expect(Self.isWhole(value, 0...1), key, "0 or 1")
        case "thread-id", "category", "target-content-id", "filter-criteria":
            expect(value.string?.isEmpty == false, key, "a string that is not empty")
        case "interruption-level":
            expect(value.string.map(Self.levels.contains) ?? false, key, "one of Apple's four levels")
        case "relevance-score": expect(Self.isShare(value), key, "a number from 0 to 1")
        default: faults.append("aps has no key \(key)")
        }
    }

    private mutating func checkAlert(_ value: JSONValue) {
        guard let alert = value.object else {
            return expect(value.string?.isEmpty == false, "alert", "words or a dictionary")
        }
        for member in alert.members {
            if Self.alertTexts.contains(member.key) {
                expect(member.value.string != nil, "alert.\(member.key)", "a string")
            } else if Self.alertLists.contains(member.key) {
                let isList = member.value.array?.allSatisfy { $0.string != nil } ?? false
                expect(isList, "alert.\(member.key)", "a list of strings")
            } else {
                faults.append("alert has no key \(member.key)")
            }
        }
    }

    private mutating func checkSound(_ value: JSONValue) {
        guard let sound = value.object else {
            return expect(value.string?.isEmpty == false, "sound", "a name or a dictionary")
        }
        for member in sound.members {
            switch member.key {
            case "critical": expect(Self.isWhole(member.value, 0...1), "sound.critical", "0 or 1")
            case "name": expect(member.value.string?.isEmpty == false, "sound.name", "a name")
            case "volume": expect(Self.isShare(member.value), "sound.volume", "a number from 0 to 1")
            default: faults.append("sound has no key \(member.key)")
            }
        }
    }

    private mutating func expect(_ isRight: Bool, _ key: String, _ expected: String) {
        if !isRight { faults.append("Invalid value for (\(key)) key in the APNS payload. Must be \(expected).") }
    }

    private static func isWhole(_ value: JSONValue, _ range: ClosedRange<Int64>) -> Bool {
        value.number?.int64.map(range.contains) ?? false
    }

    private static func isShare(_ value: JSONValue) -> Bool {
        value.number?.double.map { (0...1).contains($0) } ?? false
    }
}
