/// What an update says about one field.
public enum FieldUpdate<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The field is absent: what is stored stays.
    case unchanged
    /// The field is `null`: what is stored goes, and the default holds again.
    case cleared
    /// The field has a value.
    case set(Value)

    /// The new value, where there is one.
    public var value: Value? {
        guard case .set(let value) = self else { return nil }
        return value
    }
}
