import ServiceRuntime

/// Distinguishes a slow server from one that does not answer.
///
/// While a caller waits, it checks repeatedly whether the server still accepts new connections.
///
/// A hanging server keeps its connections open and sends nothing on them, so that a wait for a statement shows no
/// difference.
struct ServerWatchdog: Sendable {
    private let recipe: SessionOptions
    /// The time before the first check, and between checks.
    private let limit: Duration
    /// The time limit of one check for each address.
    private static let look = Duration.seconds(4)

    init(_ recipe: SessionOptions, limit: Duration) {
        var recipe = recipe
        recipe.connectTimeout = Self.look
        // An accepted connection is a sufficient answer.
        recipe.setUp = []
        self.recipe = recipe
        self.limit = limit
    }

    /// Returns the minimum duration of the silence when the server does not answer; `nil` if the task is cancelled
    /// first.
    func silence() async -> Duration? {
        while (try? await Task.sleep(for: limit)) != nil {
            if let span = await unanswered() { return limit + span }
        }
        return nil
    }

    /// Returns the duration of an unanswered check; `nil` if it was answered.
    ///
    /// A refusal is an answer, too: too many connections, a closed port, an unknown name.
    private func unanswered() async -> Duration? {
        await withCheckedContinuation { answer in
            NativeThread.start(named: "pg-look") { [recipe] in
                let start = ContinuousClock.now
                do throws(PostgresError) {
                    _ = try PostgresSession.open(recipe)
                    answer.resume(returning: nil)
                } catch {
                    let span = Duration.seconds(start.duration(to: .now).components.seconds)
                    let isSilent = error.sqlState == nil && span >= Self.look
                    answer.resume(returning: isSilent ? span : nil)
                }
            }
        }
    }
}
