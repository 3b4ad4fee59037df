import BellhopRules

/// The content of an APNs error answer.
///
/// Every part may be missing, and the whole body may be a page.
struct APNsReport {
    /// Apple's reason, such as `BadDeviceToken`.
    let reason: String?

    /// The time from which the device is gone; a 410 contains it in milliseconds.
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

    /// Returns the reason if it is in the given set.
    func known(of reasons: Set<VerdictReason>) -> VerdictReason? {
        reason.flatMap(VerdictReason.init).flatMap { reasons.contains($0) ? $0 : nil }
    }
}
