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
