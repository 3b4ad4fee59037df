import ServiceRuntime

/// Tells a server that takes long from one that does not answer at all: while somebody waits, it looks again and again
/// whether the server still lets new connections in.
///
/// A server that hangs keeps its connections open and says nothing on them, so that waiting for a statement tells no
/// difference.
struct SilenceWatch: Sendable {
    private let recipe: SessionRecipe
    /// How long somebody waits before the first look, and from one look to the next.
    private let limit: Duration
    /// What one look may take for each address.
    private static let look = Duration.seconds(4)

    init(_ recipe: SessionRecipe, limit: Duration) {
        var recipe = recipe
        recipe.connectTimeout = Self.look
        // To be let in is answer enough.
        recipe.setUp = []
        self.recipe = recipe
        self.limit = limit
    }

    /// Returns when the server does not answer: for how long at least; nil where the task is cancelled first.
    func silence() async -> Duration? {
        while (try? await Task.sleep(for: limit)) != nil {
            if await !isAnswered() { return limit + Self.look }
        }
        return nil
    }

    /// Also by a refusal, such as that there are too many connections.
    private func isAnswered() async -> Bool {
        await withCheckedContinuation { answer in
            NativeThread.start(named: "pg-look") { [recipe] in
                do throws(PostgresError) {
                    _ = try Session.open(recipe)
                    answer.resume(returning: true)
                } catch {
                    answer.resume(returning: error.sqlState != nil)
                }
            }
        }
    }
}
