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
        guard let token = cells[1].string.flatMap(DeviceToken.init(validating:)),
            let platform = cells[2].word(DevicePlatform.self), let provider = cells[3].word(PushProvider.self)
        else { return nil }
        self.init(
            subscription: subscription,
            token: token,
            platform: platform,
            provider: provider,
            permission: cells[4].word(PushPermission.self),
            environment: cells[5].word(PushEnvironment.self),
            wasReached: wasReached,
            mark: cells[7].string
        )
    }

    /// Creates a device from an entry; `nil` if no Bellhop process can have written it.
    private init?(entry: JSONValue) {
        guard let values = entry.array, values.count == 8, let subscription = values[0].string else { return nil }
        var keys: WebPushKeys?
        if case .object(let subscription) = values[6] { keys = WebPushKeys(subscription: subscription) }
        guard let token = values[1].string.flatMap(DeviceToken.init(validating:)),
            let platform = values[2].string.flatMap(DevicePlatform.init(rawValue:)),
            let provider = values[3].string.flatMap(PushProvider.init(rawValue:))
        else { return nil }
        self.init(
            subscription: subscription,
            token: token,
            platform: platform,
            provider: provider,
            permission: values[4].string.flatMap(PushPermission.init(rawValue:)),
            environment: values[5].string.flatMap(PushEnvironment.init(rawValue:)),
            webPushKeys: keys,
            wasReached: values[7] == .bool(true),
            mark: values[7].string
        )
    }
}

extension TextRows.Cell {
    /// Returns the case whose name is this text, without a string for it; `nil` for other elements.
    fileprivate func word<Word: RawRepresentable<String> & CaseIterable>(_: Word.Type) -> Word? {
        guard case .text(let bytes) = self else { return nil }
        return Word.allCases.first { $0.rawValue.withBytes { $0.hasSameBytes(as: bytes) } }
    }
}
