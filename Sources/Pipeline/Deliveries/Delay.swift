/// Why a message was not even offered to its provider, or was refused for reasons that are not its own.
///
/// Nothing of it counts as an attempt.
struct Delay: Sendable, Equatable {
    enum Cause: String, CaseIterable, Sendable {
        /// The provider refuses our keys or settings.
        case breaker
        /// The provider has asked for silence.
        case providerRests = "provider-rests"
    }

    let cause: Cause
    let wait: Duration
}
