extension Status {
    /// A part of the installation that was read or could not be read.
    package enum Observed<Value: Sendable>: Sendable {
        case seen(Value)
        /// With the reason why it could not be read.
        case unseen(because: String)

        package var value: Value? {
            if case .seen(let value) = self { value } else { nil }
        }

        package var obstacle: String? {
            if case .unseen(let reason) = self { reason } else { nil }
        }
    }
}

extension Status.Observed {
    /// Reads the part, or returns the reason why it cannot be read.
    static func look(_ look: @Sendable () async throws -> Value) async -> Self {
        do {
            return .seen(try await look())
        } catch {
            return .unseen(because: StatusOperations.text(of: error))
        }
    }

    /// Limits a read that cannot be cancelled.
    ///
    /// After the limit the caller gets a result, and the read ends later.
    static func look(within limit: Duration, _ look: @escaping @Sendable () async throws -> Value) async -> Self {
        let (sights, found) = AsyncStream<Self>.makeStream()
        Task { _ = found.yield(await Self.look(look)) }
        let timer = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            let words = "it has answered nothing for \(limit.components.seconds) s; see docs/runbooks/broker.md"
            found.yield(.unseen(because: words))
        }
        defer { timer.cancel() }
        for await sight in sights { return sight }
        return .unseen(because: "the caller no longer waits")
    }
}
