extension JSONValue: Hashable {
    /// Agrees with equality: an object's members count without their order.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let number): hasher.combine(number)
        case .string(let text): ByteKey(text: text).hash(into: &hasher)
        case .array(let elements): hasher.combine(elements)
        case .object(let object): hasher.combine(object)
        }
    }
}

extension JSONObject: Hashable {
    /// Agrees with equality: the order of the members does not count.
    public func hash(into hasher: inout Hasher) {
        for member in sortedByKey() {
            ByteKey(text: member.key).hash(into: &hasher)
            hasher.combine(member.value)
        }
        hasher.combine(count)
    }
}
