extension Result {
    /// The error, where there is one.
    package var failure: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
