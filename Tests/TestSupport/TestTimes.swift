import Foundation
import Synchronization
import Testing

/// Writes the duration of each test without its wait for a turn; Swift Testing prints durations with that wait.
///
/// `BELLHOP_TEST_TIMES` names the file. A line contains the second of the run at which the test began, its duration in
/// seconds, its file and its name.
enum TestTimes {
    private static let file = Mutex(
        ProcessInfo.processInfo.environment["BELLHOP_TEST_TIMES"].flatMap { FileHandle(forWritingAtPath: $0) }
    )
    private static let begin = ContinuousClock.now

    /// Starts the run's clock with its first test.
    static func start() { _ = begin }

    static func note(_ test: Test, from start: ContinuousClock.Instant) {
        let (began, took) = (seconds(start - begin), seconds(.now - start))
        let name = test.displayName ?? test.name
        let line = "\(began)\t\(took)\t\(test.sourceLocation.fileID)\t\(name)\n"
        file.withLock { file in
            _ = try? file?.seekToEnd()
            try? file?.write(contentsOf: Data(line.utf8))
        }
    }

    private static func seconds(_ span: Duration) -> String {
        String(format: "%.2f", Double(span.components.seconds) + Double(span.components.attoseconds) / 1e18)
    }
}
