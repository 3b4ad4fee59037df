/// The handling of several notifications of a type that reach one user within a short time.
public struct BurstPolicy: Hashable, Sendable {
    /// The period after a push in which further pushes wait.
    ///
    /// At its end, only the newest is sent.
    public let window: Lifetime

    /// The longest window in seconds.
    ///
    /// A digest is the better choice for longer waits.
    static let longest: Int64 = 3_600
    /// The required form of a window.
    static let rule = "a whole number with s, m or h, such as 60s, at most 1h"
}

/// The maximum number of individual low-priority pushes per user; further ones wait for the digest.
public struct PushCap: Hashable, Sendable {
    /// The maximum within any hour.
    public let perHour: Int
}
