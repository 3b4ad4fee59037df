/// What becomes of a push that falls into a user's quiet hours; the in-app record is written whatever it is.
public enum QuietHoursPolicy: String, CaseIterable, Hashable, Sendable {
    /// It waits until they end, or until it expires.
    case `defer`
    /// It is not pushed at all.
    case drop
    /// It goes out at once.
    case bypass
}

/// The policy for each kind of device.
public struct QuietHoursPolicies: Hashable, Sendable {
    let ios: QuietHoursPolicy
    let android: QuietHoursPolicy
    let web: QuietHoursPolicy

    /// The policy for one kind of device.
    public subscript(platform: DevicePlatform) -> QuietHoursPolicy {
        switch platform {
        case .ios: ios
        case .android: android
        case .web: web
        }
    }

    /// For each kind of device the first policy that somebody stated, or what its priority says: `high` goes out at
    /// once, all else waits.
    init(_ stated: [[DevicePlatform: QuietHoursPolicy]], priority: Priority) {
        func first(_ platform: DevicePlatform) -> QuietHoursPolicy {
            for policies in stated {
                if let policy = policies[platform] { return policy }
            }
            return priority == .high ? .bypass : .defer
        }
        ios = first(.ios)
        android = first(.android)
        web = first(.web)
    }
}
