import BellhopRules
import ServiceRuntime

extension SystemTime {
    var timestamp: Timestamp { Timestamp(clamping: now().microseconds) }
}
