import BellhopRules
import ServiceRuntime

extension HumanText {
    /// Returns an instant of today such as `03:12:04 UTC`.
    static func clock(_ moment: Timestamp) -> String {
        String(moment.description.dropFirst(11).prefix(8)) + " UTC"
    }
}
