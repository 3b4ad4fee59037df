/// The handling of a push in a user's quiet hours; the in-app record is always written.
public enum QuietHoursPolicy: String, CaseIterable, Hashable, Sendable {
    /// The push waits until the quiet hours end or it expires.
    case `defer`
    /// The push is not sent.
    case drop
    /// The push is sent immediately.
    case bypass
}

/// The policies by platform.
public struct QuietHoursPolicies: Hashable, Sendable {
    let ios: QuietHoursPolicy
    let android: QuietHoursPolicy
    let web: QuietHoursPolicy

    /// The policy for one platform.
    public subscript(platform: DevicePlatform) -> QuietHoursPolicy {
        switch platform {
        case .ios: ios
        case .android: android
        case .web: web
        }
    }

    /// Chooses the first stated policy for each platform.
    ///
    /// Without one, the priority decides: `high` is sent immediately, and all others wait.
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
