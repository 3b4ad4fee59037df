/// The rules for the user's devices as a whole and for each device.
enum DeviceRules {
    static func outcomeForAll(_ facts: DecisionFacts, _ listener: inout some RuleTracer) -> Outcome? {
        let recipient = facts.recipient
        let isPushed =
            facts.type.isMandatory || (recipient.preferences?.wants(facts.type.type) ?? facts.type.pushByDefault)
        if !isPushed {
            return listener.tell(.type, .suppress(.typeMuted), "not pushed, by the app's default")
        }
        let isAllowed = recipient.pushEnabled
        let outcome = listener.tell(
            .pushEnabled,
            isAllowed ? nil : .suppress(.pushDisabled),
            isAllowed ? "on" : "push is disabled for this user"
        )
        if let outcome { return outcome }
        let count = recipient.devices.count
        return listener.tell(.devices, count == 0 ? .suppress(.noDevice) : nil, "\(count) active")
    }

    static func outcome(
        _ device: Device,
        _ facts: DecisionFacts,
        _ listener: inout some RuleTracer
    ) -> Outcome? {
        let id = device.subscription
        if let devices = facts.follow?.devices, !devices.contains(id) {
            let finding = "the user follows with other devices"
            return listener.tell(.followingDevice, device: id, .suppress(.otherDevice), finding)
        }
        if !facts.catalog.uses(device.provider) {
            let finding = "the app does not use \(device.provider.rawValue) at present"
            return listener.tell(.provider, device: id, .suppress(.noProvider), finding)
        }
        let mayShow = device.mayShow
        return listener.tell(
            .permission,
            device: id,
            mayShow ? nil : .suppress(.noPermission),
            device.permission?.rawValue ?? "not known, so the provider will tell"
        )
    }
}

extension Device {
    /// Whether the device may show notifications.
    ///
    /// If no permission was reported, the provider's answer decides.
    fileprivate var mayShow: Bool {
        switch permission {
        case nil, .granted, .provisional: true
        case .denied, .default, .undetermined: false
        }
    }
}
