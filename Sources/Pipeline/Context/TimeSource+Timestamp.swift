package import BellhopRules
package import ServiceRuntime

extension TimeSource {
    /// The time of day, as rules and tables have it.
    package var timestamp: Timestamp { Timestamp(clamping: now().microseconds) }
}
