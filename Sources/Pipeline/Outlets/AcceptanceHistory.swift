import BellhopRules

/// The devices whose answers are evidence about all devices, if a provider rejects many.
///
/// Anybody can register made-up tokens, from any number of accounts. If a provider has reached devices of an app, only
/// these count. If it has reached none, all count, because wrong credentials would otherwise not be noticed on the
/// first day.
struct AcceptanceHistory: Equatable {
    /// The platforms on which the app has reached devices.
    var platforms: Set<DevicePlatform> = []

    /// The environments in which the provider accepted a message recently: APNs' environments, or `nil` for a provider
    /// without environments.
    ///
    /// The credentials are right there, so answers to unreached devices concern only these devices.
    var recentlyAccepted: Set<PushEnvironment?> = []

    /// For Expo, which has separate credentials per platform: the platforms for which it accepted a message recently.
    var platformsTakenLately: Set<DevicePlatform> = []

    /// The reason of the open breaker that the batch probes.
    ///
    /// The same answer again confirms it. All devices count then.
    var probed: String?

    static let everybody = AcceptanceHistory()

    /// Whether only reached devices count.
    var hasReachedDevices: Bool { !platforms.isEmpty }
}
