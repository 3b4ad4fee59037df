/// What has happened in a loop's transfers since it last slept.
///
/// The loop needs to know, because libcurl 7.88 forgets wake-ups: while it goes through the transfers, it marks one that
/// has more to do (an HTTP/2 answer whose end has arrived, say) as due at once, and then drops the mark if a later
/// transfer looks for a connection in the same pass. Nothing would come back to the first until some timer fires, and
/// that may be its own timeout. So the loop looks again by itself, at once where bytes came in, and a moment later
/// after anything else.
///
/// Confined to the loop's thread.
final class TransferProgress {
    /// How long a forgotten wake-up can go unnoticed.
    static let secondLook: Duration = .milliseconds(10)

    /// Part of an answer came in during this pass.
    var hasReceived = false

    /// Something happened that may have made libcurl forget a wake-up.
    var deservesSecondLook = false
}
