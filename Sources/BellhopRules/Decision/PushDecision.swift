/// Whether and where a notification is pushed, with the reason for every no.
public enum PushDecision: Hashable, Sendable {
    /// To each of these devices; the others of the user may not be used.
    case send([Device], withheld: [Device])
    /// To none of them, for one reason.
    case suppress(SuppressionReason)
    /// Too late.
    case expired

    /// Decides by what is known now; the same at the first attempt, after a retry and at a replay.
    ///
    /// In this order: expiry, the master toggle, the type's toggle or the catalogue's default for it, the switch for all
    /// pushes, then each device's permission.
    public init(type: CatalogType, expiresAt: Timestamp?, recipient: Recipient, now: Timestamp) {
        if let expiresAt, expiresAt <= now {
            self = .expired
        } else if recipient.preferences?.enabled == false {
            self = .suppress(.muted)
        } else if !(recipient.preferences?.wants(type.type) ?? type.pushByDefault) {
            self = .suppress(.typeMuted)
        } else if !recipient.pushEnabled {
            self = .suppress(.pushDisabled)
        } else if recipient.devices.isEmpty {
            self = .suppress(.noDevice)
        } else {
            self = Self.byPermission(recipient.devices)
        }
    }

    private static func byPermission(_ devices: [Device]) -> PushDecision {
        let allowed = devices.filter(\.mayShow)
        guard !allowed.isEmpty else { return .suppress(.noPermission) }
        return .send(allowed, withheld: allowed.count == devices.count ? [] : devices.filter { !$0.mayShow })
    }
}

/// Why nothing is pushed; each is success, since the notification is in the app.
public enum SuppressionReason: String, CaseIterable, Hashable, Sendable {
    /// The user muted everything.
    case muted
    /// The user, or the catalogue's default, muted the type.
    case typeMuted = "type-muted"
    /// The user's devices may not be used.
    case pushDisabled = "push-disabled"
    /// There is no device.
    case noDevice = "no-device"
    /// The system was not allowed to show anything on this device.
    case noPermission = "no-permission"
    /// The user has read it in the app meanwhile.
    case alreadyRead = "already-read"
    /// The device's subscription ended meanwhile.
    case deviceGone = "device-gone"
    /// The user was erased meanwhile.
    case recipientErased = "recipient-erased"
    /// The catalogue no longer knows the type.
    case unknownType = "unknown-type"
    /// No provider is configured for this kind of device.
    case noProvider = "no-provider"
}

extension Device {
    /// Where nobody told, the provider will.
    fileprivate var mayShow: Bool {
        switch permission {
        case nil, .granted, .provisional: true
        case .denied, .default, .undetermined: false
        }
    }
}
