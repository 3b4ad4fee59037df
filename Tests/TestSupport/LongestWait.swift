import Foundation

/// How long a test waits for something that must happen, before it counts as a failure.
///
/// This is the only place that says how long. A wait whose condition holds ends early, so a generous limit costs nothing
/// on the day on which all is well. The limit grows with the machine's load: beside four busy processes a turn of the
/// processor can be a minute away, and a limit that is measured in a quiet hour turns that into a failure.
package struct LongestWait: Sendable {
    /// Seconds on a machine with a processor to spare.
    private let quiet: Double

    /// For one step of a test.
    package static let test = LongestWait(quiet: 120)
    /// For one step of a proof, which moves thousands of messages between programs that are killed on purpose.
    package static let proof = LongestWait(quiet: isFullSize ? 1_800 : 900)

    private static let isFullSize = ProcessInfo.processInfo.environment["BELLHOP_PROOF_SIZE"] == "full"

    /// The limit as the machine is loaded now, at most four times that of a quiet one.
    package var seconds: Double { quiet * min(max(Self.runnablePerProcessor, 1), 4) }
    package var duration: Duration { .seconds(seconds) }

    /// The limit of one step of a test, for what takes a number of seconds or a duration.
    package static var seconds: Double { test.seconds }
    package static var duration: Duration { test.duration }

    /// The average of the last minute; 1 where the system does not report it.
    static var runnablePerProcessor: Double {
        var average = 0.0
        guard getloadavg(&average, 1) == 1 else { return 1 }
        return average / Double(ProcessInfo.processInfo.activeProcessorCount)
    }
}
