import BellhopRules

/// What an APNs error answer says of itself; every part may be missing, and the whole may be a page.
struct APNsReport {
    /// Apple's word, such as `BadDeviceToken`.
    let reason: String?

    /// Since when the device is gone, which a 410 says in milliseconds.
    let timestamp: Timestamp?

    init(body: [UInt8]) {
        guard !body.isEmpty, let value = JSONParser().parse(body).value else {
            reason = nil
            timestamp = nil
            return
        }
        reason = value["reason"]?.string
        let milliseconds = value["timestamp"]?.number?.int64
        timestamp = milliseconds.flatMap { milliseconds in
            let (microseconds, overflows) = milliseconds.multipliedReportingOverflow(by: 1_000)
            return overflows ? nil : Timestamp(microseconds: microseconds)
        }
    }

    /// The reason where it is one of these.
    func known(of reasons: Set<VerdictReason>) -> VerdictReason? {
        reason.flatMap(VerdictReason.init).flatMap { reasons.contains($0) ? $0 : nil }
    }
}
