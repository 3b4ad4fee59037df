package import BellhopRules

/// The providers that can be checked.
package enum CheckedProvider: String, CaseIterable, Sendable {
    case apns
    case fcm
    case expo
    case webpush
    case email

    /// The names of all providers, as `apns, fcm, expo, webpush or email`.
    package static let list =
        allCases.dropLast().map(\.rawValue).joined(separator: ", ") + " or \(CheckedProvider.email.rawValue)"

    /// The push provider, or `nil` for e-mail.
    package var push: PushProvider? { PushProvider(rawValue: rawValue) }

    /// A valid-looking token that belongs to no device, or `nil` if such a token would not give a useful answer.
    package var madeUpToken: String? {
        switch self {
        case .apns: String(repeating: "b2", count: 32)
        case .fcm: "bellhop-check:made-up"
        case .expo: "ExponentPushToken[bellhop-check-made-up]"
        case .webpush, .email: nil
        }
    }
}
