package import BellhopRules
package import ServiceRuntime

extension HumanText {
    /// Returns a text such as `12 s ago` or `3 h ago`.
    ///
    /// It is `now` for a time that is in the future because of clock differences.
    package static func ago(_ moment: Timestamp, _ now: Timestamp) -> String {
        let span = Duration.microseconds(now.microseconds - moment.microseconds)
        return span >= .seconds(1) ? "\(span.roughly) ago" : "now"
    }

    /// Returns `in 3 h`, for an instant that is still to come.
    package static func ahead(_ moment: Timestamp, _ now: Timestamp) -> String {
        "in " + Duration.microseconds(max(0, moment.microseconds - now.microseconds)).roughly
    }

    /// Returns an instant such as `2026-11-21 03:12:04 UTC`.
    package static func instant(_ moment: Timestamp) -> String {
        String(moment.description.prefix(19)).replacing("T", with: " ") + " UTC"
    }
}
