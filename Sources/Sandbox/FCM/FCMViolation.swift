/// One thing that is wrong with one field of a request.
struct FCMViolation: Sendable, Equatable {
    /// Such as `message.android.ttl`.
    let field: String
    let description: String
}
