extension Result {
    /// The error, if the result is a failure.
    package var failure: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
