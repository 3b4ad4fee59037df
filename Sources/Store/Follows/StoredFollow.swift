package import BellhopRules
package import Postgres

/// How a user follows a topic, as a fan-out or a resume reads it from `follows`.
package struct StoredFollow: Hashable, Sendable {
    package let role: FollowRole?
    package let isMuted: Bool
    /// The hashes of the tokens of the devices that follow; nil for all that the user has.
    let devices: Set<String>?

    /// What ``init(_:_:from:)`` reads, of the table or an alias for it.
    package static func columns(of table: String = "follows") -> String {
        "\(table).role, \(table).muted, \(table).devices"
    }

    /// From ``columns(of:)``, the first of which stands at `column`.
    package init(_ rows: Rows, _ row: Int, from column: Int = 0) throws(PostgresError) {
        role = try rows.optionalText(row, .index(column)).flatMap(FollowRole.init(validating:))
        isMuted = try rows.boolean(row, .index(column + 1))
        devices = try rows.optionalText(row, .index(column + 2)).map(Self.hashes)
    }

    init(role: FollowRole?, isMuted: Bool, devices: Set<String>?) {
        self.role = role
        self.isMuted = isMuted
        self.devices = devices
    }

    /// As the rules ask for it: the devices by their subscriptions, whose tokens may have changed meanwhile.
    package func facts(for key: RecipientKey, with devices: [Device]) -> DecisionFacts.Follow {
        let following = self.devices.map { hashes in
            devices.filter { hashes.contains(SubjectHash.device($0.token, of: key)) }.map(\.subscription)
        }
        return DecisionFacts.Follow(role: role, isMuted: isMuted, devices: following.map(Set.init))
    }

    /// What cannot be read names no device.
    private static func hashes(_ json: String) -> Set<String> {
        guard case .success(.array(let names)) = JSONParser(limits: .event).parse(Array(json.utf8)) else { return [] }
        return Set(names.compactMap(\.string))
    }
}

extension SubjectHash {
    /// What a follow names a device by: a browser's token may be longer than a row should be.
    static func device(_ token: DeviceToken, of key: RecipientKey) -> String {
        subscription(key.app, key.user, token: token.text).hex
    }
}
