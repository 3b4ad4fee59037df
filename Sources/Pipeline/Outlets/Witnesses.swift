import BellhopRules

/// Whose answers say something about everybody's, where a provider refuses many.
///
/// Anybody may register made-up tokens, from as many accounts as they like. Where a provider has reached devices of an
/// app before, those alone speak for the others; where it has reached none, all do, or a wrong key would not be noticed
/// on the first day.
struct Witnesses: Equatable {
    /// On which platforms devices were reached before.
    var platforms: Set<DevicePlatform> = []

    /// Where the provider took something a moment ago: APNs' environments, or nil for one that has none.
    ///
    /// The keys are right there, so what strangers are told is about their own devices.
    var takenLately: Set<PushEnvironment?> = []

    /// Of Expo, which has keys of its own for each: for which platforms it took something a moment ago.
    var platformsTakenLately: Set<DevicePlatform> = []

    static let everybody = Witnesses()

    /// Whether only devices that were reached before count.
    var areChosen: Bool { !platforms.isEmpty }
}
