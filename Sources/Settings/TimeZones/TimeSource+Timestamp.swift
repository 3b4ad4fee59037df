package import BellhopRules
package import ServiceRuntime

extension TimeSource {
    /// The time of day, in the form of rules and tables.
    package var timestamp: Timestamp { Timestamp(clamping: now().microseconds) }
}
