/// The services that the sandbox emulates, by their names in the control interface.
package enum ProviderName: String, Sendable, CaseIterable {
    /// Apple Push Notification service, both environments.
    case apns
    /// Firebase Cloud Messaging, version 1 of its HTTP interface.
    case fcm
    /// Expo's push service, version 2 of its HTTP interface.
    case expo
    /// Google's token endpoint, which issues access tokens to service accounts.
    case oauth
    /// The push services of browsers (RFC 8030).
    case webpush
    /// A mail server.
    case email
}
