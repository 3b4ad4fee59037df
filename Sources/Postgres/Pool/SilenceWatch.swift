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
            if let span = await unanswered() { return limit + span }
        }
        return nil
    }

    /// For how long a look went unanswered; nil where it was answered.
    ///
    /// A refusal is an answer, too: that there are too many connections, that nobody listens, that the name is unknown.
    private func unanswered() async -> Duration? {
        await withCheckedContinuation { answer in
            NativeThread.start(named: "pg-look") { [recipe] in
                let start = ContinuousClock.now
                do throws(PostgresError) {
                    _ = try Session.open(recipe)
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
