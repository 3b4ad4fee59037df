/// The rules of APNs for a request's headers.
struct APNsHeaderRules {
    let headers: HeaderBlock
    let topics: Set<String>

    /// The suffix that each push type's topic must have after the bundle id.
    private static let suffixes = [
        "alert": "", "background": "", "mdm": "", "voip": ".voip", "complication": ".complication",
        "fileprovider": ".pushkit.fileprovider", "location": ".location-query",
        "liveactivity": ".push-type.liveactivity", "pushtotalk": ".voip-ptt", "widgets": ".push-type.widgets",
        "controls": ".push-type.controls",
    ]

    static func isPushType(_ text: String) -> Bool { suffixes[text] != nil }

    /// Returns the first violation.
    func refusal() -> APNsRefusal? {
        duplicate() ?? topic() ?? priority() ?? expiration() ?? identifiers()
    }

    private func duplicate() -> APNsRefusal? {
        var seen: Set<String> = []
        for (name, _) in headers.fields where !seen.insert(name).inserted {
            return APNsRefusal(400, "DuplicateHeaders", "\(name) is there twice")
        }
        return nil
    }

    private func topic() -> APNsRefusal? {
        guard let type = headers["apns-push-type"], let suffix = Self.suffixes[type] else {
            return APNsRefusal(400, "InvalidPushType", "apns-push-type is missing or unknown")
        }
        guard let topic = headers["apns-topic"], !topic.isEmpty else {
            return APNsRefusal(400, "MissingTopic", "apns-topic is missing")
        }
        guard topic.hasSuffix(suffix), topic.utf8.allSatisfy(Self.isOfBundleID) else {
            return APNsRefusal(400, "BadTopic", "apns-topic is not a bundle id that ends with \"\(suffix)\"")
        }
        guard topics.contains(String(topic.dropLast(suffix.count))) else {
            return APNsRefusal(400, "TopicDisallowed", "the team has no app \(topic)")
        }
        return nil
    }

    private func priority() -> APNsRefusal? {
        guard let priority = headers["apns-priority"] else { return nil }
        let isBackground = headers["apns-push-type"] == "background"
        guard (isBackground ? ["1", "5"] : ["1", "5", "10"]).contains(priority) else {
            return APNsRefusal(400, "BadPriority", "apns-priority must be 10, 5 or 1, and for background never 10")
        }
        return nil
    }

    private func expiration() -> APNsRefusal? {
        guard let text = headers["apns-expiration"], !Self.isExpiration(text) else { return nil }
        return APNsRefusal(400, "BadExpirationDate", "apns-expiration must be seconds since 1970")
    }

    private func identifiers() -> APNsRefusal? {
        if let id = headers["apns-id"], !Self.isUUID(id) {
            return APNsRefusal(400, "BadMessageId", "apns-id must be a UUID in small letters")
        }
        if let id = headers["apns-collapse-id"], !Self.isCollapseID(id) {
            return APNsRefusal(400, "BadCollapseId", "apns-collapse-id must have 1 to 64 bytes")
        }
        return nil
    }

    static func isExpiration(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt32(text) != nil
    }

    static func isCollapseID(_ text: String) -> Bool { (1...64).contains(text.utf8.count) }

    /// Whether the text is five groups of lower-case hexadecimal digits.
    static func isUUID(_ text: String) -> Bool {
        let groups = text.split(separator: "-", omittingEmptySubsequences: false)
        let digits = Set("0123456789abcdef")
        return groups.map(\.utf8.count) == [8, 4, 4, 4, 12] && groups.allSatisfy { $0.allSatisfy(digits.contains) }
    }

    private static func isOfBundleID(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
    }
}
