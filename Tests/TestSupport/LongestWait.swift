import Foundation

/// The time for which a test waits for a required event before it fails.
///
/// Only this type defines such times. A wait whose condition holds ends early, so that a generous limit costs nothing
/// if all is well. The limit grows with the machine's load: next to four busy processes, the next slice of processor
/// time can be a minute away, and a limit measured on an idle machine would turn that into a failure.
package struct LongestWait: Sendable {
    /// Seconds on a machine with an idle processor.
    private let quiet: Double

    /// The limit for one step of a test.
    package static let test = LongestWait(quiet: 120)
    /// The limit for one step of a proof, which moves thousands of messages between programs that are killed on
    /// purpose.
    package static let proof = LongestWait(quiet: isFullSize ? 1_800 : 900)

    static let isFullSize = ProcessInfo.processInfo.environment["BELLHOP_PROOF_SIZE"] == "full"

    /// The limit at the machine's current load, at most four times that of an idle machine.
    package var seconds: Double { quiet * min(max(Self.runnablePerProcessor, 1), 4) }
    package var duration: Duration { .seconds(seconds) }

    /// The limit of one step of a test, for calls that take seconds or a duration.
    package static var seconds: Double { test.seconds }
    package static var duration: Duration { test.duration }

    /// The average of the last minute; 1 if the system does not report it.
    static var runnablePerProcessor: Double {
        var average = 0.0
        guard getloadavg(&average, 1) == 1 else { return 1 }
        return average / Double(ProcessInfo.processInfo.activeProcessorCount)
    }
}
