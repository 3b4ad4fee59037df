import Foundation

/// The kernel's data about the processes of this machine, if this user may read them.
enum ProcessTable {
    /// Returns the processor time that a process and its ended children have used, in seconds.
    static func processorTime(of process: Int) -> Double? {
        guard let fields = status(of: process), fields.count > 14 else { return nil }
        let ticks = fields[11...14].compactMap { Double($0) }
        let perSecond = sysconf(CInt(_SC_CLK_TCK))
        guard ticks.count == 4, perSecond > 0 else { return nil }
        return ticks.reduce(0, +) / Double(perSecond)
    }

    /// Returns the processor time of a process and all its descendants, in seconds.
    static func processorTime(ofTree root: Int, without excluded: Int? = nil) -> Double? {
        guard let own = processorTime(of: root) else { return nil }
        let parents = parents()
        var tree: Set<Int> = [root]
        var hasGrown = true
        while hasGrown {
            let found = parents.filter { !tree.contains($0.key) && tree.contains($0.value) }.map(\.key)
            tree.formUnion(found)
            hasGrown = !found.isEmpty
        }
        tree.remove(root)
        if let excluded { tree.remove(excluded) }
        return tree.reduce(own) { $0 + (processorTime(of: $1) ?? 0) }
    }

    static func parent(of process: Int) -> Int? {
        status(of: process).flatMap { $0.count > 1 ? Int($0[1]) : nil }
    }

    /// Returns the program's short name.
    static func name(of process: Int) -> String? {
        text("/proc/\(process)/comm")?.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns the resident memory in bytes: the present value and the peak.
    static func memory(of process: Int) -> (now: Int, peak: Int)? {
        guard let text = text("/proc/\(process)/status") else { return nil }
        func kilobytes(_ name: String) -> Int? {
            text.split(separator: "\n").first { $0.hasPrefix(name + ":") }?
                .split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) }
        }
        guard let now = kilobytes("VmRSS"), let peak = kilobytes("VmHWM") else { return nil }
        return (now * 1024, peak * 1024)
    }

    /// Returns the number of open files and connections.
    static func descriptors(of process: Int) -> Int? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd"))?.count
    }

    /// Returns the load average of the last minute.
    static func load() -> Double? {
        text("/proc/loadavg").flatMap { $0.split(separator: " ").first }.flatMap { Double($0) }
    }

    /// Returns the process that listens on a TCP port of this machine, or `nil` if another user owns it.
    ///
    /// A child also holds its parent's socket until it runs its own program. The result is therefore the process whose
    /// parent does not hold the socket.
    static func listener(onPort port: Int) -> Int? {
        let sockets = Set(["tcp", "tcp6"].flatMap { listeningSockets("/proc/net/\($0)", port) })
        guard !sockets.isEmpty else { return nil }
        let holders = Set(processes().filter { hasOpen(sockets, $0) })
        return holders.first { process in parent(of: process).map { !holders.contains($0) } ?? false }
    }

    private static func hasOpen(_ sockets: Set<String>, _ process: Int) -> Bool {
        let folder = "/proc/\(process)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.contains { name in
            guard let end = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)") else {
                return false
            }
            return sockets.contains(end)
        }
    }

    private static func listeningSockets(_ file: String, _ port: Int) -> [String] {
        let listening = "0A"
        return (text(file) ?? "").split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count > 9, fields[3] == listening, let digits = fields[1].split(separator: ":").last,
                Int(digits, radix: 16) == port
            else { return nil }
            return "socket:[\(fields[9])]"
        }
    }

    private static func parents() -> [Int: Int] {
        processes().reduce(into: [:]) { $0[$1] = parent(of: $1) }
    }

    private static func processes() -> [Int] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int($0) }
    }

    /// Returns the fields of `/proc/<pid>/stat` after the name, which may contain spaces and brackets.
    private static func status(of process: Int) -> [Substring]? {
        guard let text = text("/proc/\(process)/stat"), let bracket = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: bracket)...].split(separator: " ")
    }

    /// Reads a file to its end.
    ///
    /// The kernel generates these files when they are read, and reports their size as 0.
    private static func text(_ file: String) -> String? {
        guard let handle = FileHandle(forReadingAtPath: file) else { return nil }
        defer { try? handle.close() }
        var bytes = Data()
        while let part = try? handle.read(upToCount: 65_536), !part.isEmpty { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }
}
