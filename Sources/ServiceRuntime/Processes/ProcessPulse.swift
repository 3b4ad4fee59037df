import Foundation
import Glibc

/// A pipe through which a child process proves every second that it still works.
///
/// The child's beats come from a task, so that they also stop if its threads are blocked for good. They need neither
/// servers nor ports: an unavailable database does not make a child look hung.
///
/// Thread safety: the descriptors do not change; reading and writing are single system calls.
package final class ProcessPulse: Sendable {
    private let readEnd: Int32
    /// The end for the child.
    let writeEnd: Int32

    package init() throws(CommandFailure) {
        let ends = try PipeEnds()
        (readEnd, writeEnd) = (ends.reading, ends.writing)
        // A child never waits for its supervisor, nor a supervisor for its child.
        for end in [readEnd, writeEnd] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Returns whether the child has sent a beat since the last call.
    package func hasBeaten() -> Bool {
        var beats = [UInt8](repeating: 0, count: 256)
        var hasAny = false
        while read(readEnd, &beats, beats.count) > 0 { hasAny = true }
        return hasAny
    }

    /// The interval between two beats.
    package static let interval = Duration.seconds(1)

    /// The descriptor of a child's end.
    static let childDescriptor: Int32 = 3

    /// Sends this process's beats to its supervisor until the process ends.
    static func startBeating() {
        ProcessSignal.ignoreBrokenPipes()
        Task.detached {
            var beat: UInt8 = 1
            while true {
                // A full pipe means that the supervisor does not read, which is not this process's concern.
                _ = write(childDescriptor, &beat, 1)
                try? await Task.sleep(for: interval)
            }
        }
    }
}

/// The message of a supervisor to its child: it expects beats, and names the process that the child replaces.
package struct SupervisedStart: Sendable, Equatable {
    /// The number of hung processes that the supervisor has replaced in this place.
    package var hung = 0
    /// When the process replaces one that hung, in seconds since 1970; `nil` if the one before it did not hang.
    package private(set) var hungUntil: Int64?
    /// The ids of the processes before this one, the latest first, at most ``most``.
    ///
    /// A process deletes the heartbeats of all of them. One that is killed early has not deleted its predecessor's.
    package private(set) var predecessors: [Int32] = []

    package static let most = 16

    package init() {}

    /// Notes that a child has ended, so that the next one replaces it.
    ///
    /// A child that exits with an error has not worked, or has deleted its heartbeat. The next one then replaces the
    /// child before it, whose heartbeat may still be there.
    package mutating func noteEnd(of child: Int32, by ending: ChildExit, isHung: Bool) {
        if case .exited(let code) = ending, code != 0, !isHung { return }
        predecessors = Array(([child] + predecessors.filter { $0 != child }).prefix(Self.most))
        // The time follows with the next start, which a pause may delay.
        hungUntil = isHung ? 0 : nil
    }

    /// Notes the time of the next child's start, in seconds since 1970.
    package mutating func noteStart(at seconds: Int64) {
        if hungUntil != nil { hungUntil = seconds }
    }

    /// The variable by which a supervisor hands it over.
    package static let variable = "BELLHOP_SUPERVISED_START"

    /// The value of the variable for children of this process.
    package var text: String {
        let replaced = predecessors.isEmpty ? [0] : predecessors
        return ([Int64(getpid()), Int64(hung), hungUntil ?? 0] + replaced.map(Int64.init))
            .map { String($0) }.joined(separator: ",")
    }

    /// Reads the variable; `nil` for a process without a supervisor.
    ///
    /// A variable that was copied from another process's environment is ignored, because this process has no pulse.
    package init?(_ environment: [String: String], parent: Int32 = getppid()) {
        let numbers = environment[Self.variable]?.split(separator: ",").compactMap { Int64($0) } ?? []
        guard numbers.count >= 4, numbers[0] == Int64(parent) else { return nil }
        hung = Int(clamping: numbers[1])
        hungUntil = numbers[2] > 0 ? numbers[2] : nil
        predecessors = numbers.dropFirst(3).filter { $0 > 0 }.compactMap(Int32.init(exactly:))
    }

    /// Begins to send beats, as the supervisor expects.
    package func begin() { ProcessPulse.startBeating() }
}
