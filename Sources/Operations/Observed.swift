import AMQP
import Store

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

extension Observed {
    /// Reads the part, or returns the reason why it cannot be read.
    static func look(_ look: @Sendable () async throws -> Value) async -> Self {
        do {
            return .seen(try await look())
        } catch {
            return .unseen(because: readingText(of: error))
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

/// Returns the text of an error for an operator who only reads.
func readingText(of error: any Error) -> String {
    if error is AMQPError { return "\(error); see docs/runbooks/broker.md" }
    // The status only reads, so that an operator need not know which statement had no answer.
    if let error = error as? StoreError, error.code == .timedOut, !error.isAnswered {
        return "the server does not answer" + (error.advice.map { "; \($0)" } ?? "")
    }
    return (error as? StoreError)?.readingTextWithAdvice ?? "\(error)"
}
