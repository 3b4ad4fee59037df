/// The services that the sandbox stands in for, as the control interface calls them.
package enum ProviderName: String, Sendable, CaseIterable {
    /// Firebase Cloud Messaging, version 1 of its HTTP interface.
    case fcm
    /// Google's token endpoint, where service accounts get their access tokens.
    case oauth
    /// A mail server.
    case email
}
