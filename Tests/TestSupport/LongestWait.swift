/// How long a test waits for what must happen sooner or later, before it calls that a failure.
///
/// Hundreds of tests start at once on a machine that may have two slow cores and other work to do: a turn of the
/// processor can be a minute away. A wait that comes true ends at once, so that the length costs nothing.
package enum LongestWait {
    package static let seconds = 120.0
    package static let duration = Duration.seconds(seconds)
}
