package import Foundation
import Synchronization
import Testing

/// Records the state of the machine, of the servers and of a test's programs at the moment at which a wait failed.
///
/// `BELLHOP_FAILURES` names the folder, in which each failed test has a separate folder; without it nothing is
/// recorded. `deploy/lib/failure-evidence` collects the state, so that it can be run manually, too.
package enum FailureEvidence {
    private static let folder = ProcessInfo.processInfo.environment["BELLHOP_FAILURES"].flatMap { $0 == "" ? nil : $0 }
    /// The logs of programs that run for a test, by the test's place in the sources.
    private static let logs = Mutex<[String: [String]]>([:])

    /// Registers a program's log, which is copied if this test fails.
    package static func watch(log: URL) {
        guard folder != nil else { return }
        logs.withLock { $0[place, default: []].append(log.path) }
    }

    /// The file and the function of the running test, in a form that is suitable for a folder's name.
    private static var place: String {
        guard let test = Test.current else { return "outside-of-a-test" }
        let file = test.sourceLocation.fileID.replacingOccurrences(of: ".swift", with: "")
        let function = test.name.prefix { $0 != "(" }
        return "\(file)-\(function)".replacingOccurrences(of: "/", with: "-")
    }

    static func collect(_ failure: String, after waited: Duration) async {
        guard let folder else { return }
        let (target, place) = (folder + "/" + place, place)
        let load = String(format: "%.1f runnable per processor", LongestWait.runnablePerProcessor)
        let text = "\(failure)\nwaited \(waited), \(load)\n"
        let watched = logs.withLock { $0[place] ?? [] }
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                keep(text, watched, in: target)
                done.resume()
            }
        }
    }

    private static func keep(_ text: String, _ logs: [String], in target: String) {
        let files = FileManager.default
        guard (try? files.createDirectory(atPath: target, withIntermediateDirectories: true)) != nil else { return }
        let condition = target + "/condition.txt"
        let earlier = (try? String(contentsOfFile: condition, encoding: .utf8)) ?? ""
        try? (earlier + text).write(toFile: condition, atomically: true, encoding: .utf8)
        guard earlier.isEmpty else { return }
        let script = Checkout.file("deploy/lib/failure-evidence").path
        _ = PlainProgram.run([script, target] + logs, environment: ProcessInfo.processInfo.environment)
    }
}
