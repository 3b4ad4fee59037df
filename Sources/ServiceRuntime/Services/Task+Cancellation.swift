extension Task where Success == Void, Failure == Never {
    /// Runs a body to its end, even if the calling task is cancelled.
    ///
    /// After such a cancellation, the body has `limit` before it is cancelled as well.
    package static func outlastingCancellation(
        for limit: Duration,
        _ body: @escaping @Sendable () async -> Void
    ) async {
        let task = Task { await body() }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            Task {
                try? await Task<Never, Never>.sleep(for: limit)
                task.cancel()
            }
        }
    }
}
