/// Which of a provider's environments a token was made for; APNs has two.
public enum PushEnvironment: String, CaseIterable, Hashable, Sendable {
    /// The app as the store distributes it.
    case production
    /// A development build.
    case sandbox
}
