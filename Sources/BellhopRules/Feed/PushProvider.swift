/// Through whom a device is reached.
public enum PushProvider: String, CaseIterable, Hashable, Sendable {
    /// Apple Push Notification service.
    case apns
    /// Firebase Cloud Messaging.
    case fcm
    /// Expo's push service.
    case expo
    /// Web Push (RFC 8030).
    case webpush
}
