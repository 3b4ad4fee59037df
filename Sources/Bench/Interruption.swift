import ServiceRuntime

/// Handles Ctrl-C during a measurement: the body is cancelled and cleaned up before the program ends.
enum Interruption {
    /// Runs the body; a signal cancels it, unless `isAccepted` reports that it ends early with its result.
    static func watching<Value: Sendable>(
        unless isAccepted: @escaping @Sendable () -> Bool = { false },
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let arrivals = ProcessSignal.arrivals(of: [.interrupt, .terminate])
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                for await _ in arrivals where !isAccepted() { return nil }
                return nil
            }
            guard let first = try await group.next(), let value = first else {
                group.cancelAll()
                // The body cleans up. Its error results from our cancellation.
                while await group.nextResult() != nil {}
                throw CommandFailure(
                    .tryAgain,
                    attempted: "measuring",
                    cameBack: "it was interrupted; everything is cleaned up",
                    whatToDo: "run it again"
                )
            }
            group.cancelAll()
            return value
        }
    }
}
