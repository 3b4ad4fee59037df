extension Operation {
    /// Reads the status for the console, with the console's catalogues.
    ///
    /// It is not in ``all``, because the console reads it once for all operators.
    package static let status = Operation(
        name: "status",
        work: .reading { _, context in try await StatusOperations(context, for: .console).status().json }
    )
}
