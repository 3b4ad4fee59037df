extension Event {
    /// What is wrong with it when it arrives at an instant, which only the clock can tell; nil where nothing is.
    ///
    /// A plan further ahead than a year is taken for a mistake.
    public func refusal(at arrival: Timestamp) -> Rejection? {
        let year: Int64 = 366 * 86_400 * 1_000_000
        guard let deliverAt, deliverAt.microseconds - arrival.microseconds > year else { return nil }
        return Rejection(
            reason: .invalidField,
            pointer: JSONPointer.root.key(EventField.deliverAt.rawValue),
            message: "expected an instant within a year, found one further ahead",
            event: self
        )
    }
}
