import BellhopRules

/// The form of `people.devices`: an array with an array of eight values for each device.
extension Device {
    /// Reads the devices of a user; invalid entries are skipped.
    ///
    /// Nearly all lists consist of plain texts and are read without a JSON tree. The keys of a browser are an object and
    /// take the longer way.
    static func list(_ json: UnsafeRawBufferPointer) -> [Device] {
        var devices: [Device] = []
        let isPlain = TextRows.read(json, width: 8) { cells in
            guard let subscription = cells[0].string, let device = Device(subscription, cells) else { return }
            devices.append(device)
        }
        return isPlain ? devices : parsed(json)
    }

    /// Reads the devices from a JSON tree.
    ///
    /// At most twenty devices are active, with a few kilobytes each. The larger limit ensures that rows from other
    /// sources do not hide them.
    static func parsed(_ json: UnsafeRawBufferPointer) -> [Device] {
        let parser = JSONParser(limits: JSONParser.Limits(bytes: 8 << 20, depth: 64))
        guard case .success(.array(let entries)) = parser.parse(json) else { return [] }
        return entries.compactMap(Device.init(entry:))
    }

    /// Creates a device from plain values; `nil` if no Bellhop process can have written them.
    private init?(_ subscription: String, _ cells: UnsafeBufferPointer<TextRows.Cell>) {
        var wasReached = false
        if case .bool(true) = cells[7] { wasReached = true }
        self.init(
            subscription,
            (cells[1].string, cells[2].string, cells[3].string, cells[4].string, cells[5].string),
            webPushKeys: nil,
            wasReached: wasReached,
            mark: cells[7].string
        )
    }

    /// Creates a device from an entry; `nil` if no Bellhop process can have written it.
    private init?(entry: JSONValue) {
        guard let values = entry.array, values.count == 8, let subscription = values[0].string else { return nil }
        var keys: WebPushKeys?
        if case .object(let subscription) = values[6] { keys = WebPushKeys(subscription: subscription) }
        self.init(
            subscription,
            (values[1].string, values[2].string, values[3].string, values[4].string, values[5].string),
            webPushKeys: keys,
            wasReached: values[7] == .bool(true),
            mark: values[7].string
        )
    }

    private typealias Texts = (
        token: String?, platform: String?, provider: String?, permission: String?, environment: String?
    )

    private init?(_ subscription: String, _ texts: Texts, webPushKeys: WebPushKeys?, wasReached: Bool, mark: String?) {
        guard let token = texts.token.flatMap(DeviceToken.init(validating:)),
            let platform = texts.platform.flatMap(DevicePlatform.init(rawValue:)),
            let provider = texts.provider.flatMap(PushProvider.init(rawValue:))
        else { return nil }
        self.init(
            subscription: subscription,
            token: token,
            platform: platform,
            provider: provider,
            permission: texts.permission.flatMap(PushPermission.init(rawValue:)),
            environment: texts.environment.flatMap(PushEnvironment.init(rawValue:)),
            webPushKeys: webPushKeys,
            wasReached: wasReached,
            mark: mark
        )
    }
}
