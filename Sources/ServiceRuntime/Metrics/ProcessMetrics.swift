import Foundation

/// The kernel's data about this process, read from /proc at every scrape.
package enum ProcessMetrics {
    /// Adds memory, CPU time, open descriptors and start time to the registry.
    ///
    /// A value that /proc does not provide (another system, a hidden /proc) is omitted from the scrape.
    package static func register(in registry: MetricsRegistry) {
        registry.gauge(
            "bellhop_process_resident_memory_bytes",
            help: "Memory of the process that is in RAM.",
            reading: residentBytes
        )
        registry.callback(
            "bellhop_process_cpu_seconds_total",
            .counter,
            help: "CPU time of the process, user and system.",
            labels: []
        ) { cpuSeconds().map { [([], $0)] } ?? [] }
        registry.gauge(
            "bellhop_process_open_descriptors",
            help: "File descriptors that are open.",
            reading: openDescriptors
        )
        let start = startSeconds()
        registry.gauge(
            "bellhop_process_start_time_seconds",
            help: "When the process started, in seconds since 1970."
        ) { start }
    }

    static func residentBytes() -> Double? {
        // Pages: total, resident, shared, …
        let pages = text(of: "/proc/self/statm")?.split(separator: " ").dropFirst().first
        return pages.flatMap { Double($0) }.map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) }
    }

    static func cpuSeconds() -> Double? {
        guard let fields = statFields(), let user = Double(fields[11]), let system = Double(fields[12]) else {
            return nil
        }
        return (user + system) / ticksPerSecond
    }

    static func openDescriptors() -> Double? {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else { return nil }
        // Listing the folder opens one descriptor.
        return Double(names.count - 1)
    }

    static func startSeconds() -> Double? {
        let boot = text(of: "/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
        guard let fields = statFields(), let ticks = Double(fields[19]), let seconds = boot?.dropFirst(6) else {
            return nil
        }
        return Double(seconds).map { $0 + ticks / ticksPerSecond }
    }

    private static var ticksPerSecond: Double { Double(sysconf(Int32(_SC_CLK_TCK))) }

    /// Returns the fields of /proc/self/stat after the command's name, starting with the state.
    ///
    /// The name may contain spaces and brackets.
    private static func statFields() -> [Substring]? {
        guard let stat = text(of: "/proc/self/stat"), let bracket = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: bracket)...].split(separator: " ")
        return fields.count > 19 ? fields : nil
    }

    private static func text(of path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8)
    }
}
