/// The services that the sandbox stands in for, as the control interface calls them.
package enum ProviderName: String, Sendable, CaseIterable {
    /// Apple Push Notification service, both of its environments.
    case apns
    /// Firebase Cloud Messaging, version 1 of its HTTP interface.
    case fcm
    /// Expo's push service, version 2 of its HTTP interface.
    case expo
    /// Google's token endpoint, where service accounts get their access tokens.
    case oauth
    /// The push services of browsers (RFC 8030).
    case webpush
    /// A mail server.
    case email
}
