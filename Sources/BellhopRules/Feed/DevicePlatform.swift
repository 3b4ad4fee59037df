/// What kind of device a subscription is for.
public enum DevicePlatform: String, CaseIterable, Hashable, Sendable {
    /// iPhone, iPad.
    case ios
    /// Android.
    case android
    /// A browser.
    case web
}
