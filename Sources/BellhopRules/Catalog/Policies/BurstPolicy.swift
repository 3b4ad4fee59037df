/// What becomes of several notifications of a type that reach one user within a short time.
public struct BurstPolicy: Hashable, Sendable {
    /// How long after a push the next ones wait, of which the newest goes out then.
    public let window: Lifetime

    /// At most so long: what waits for longer is better gathered for a digest.
    static let longest: Int64 = 3_600
    /// What a written window looks like.
    static let rule = "a whole number with s, m or h, such as 60s, at most 1h"
}

/// How many pushes of low priority a user gets by themselves; the others wait for the digest.
public struct PushCap: Hashable, Sendable {
    /// Within any hour.
    public let perHour: Int
}
