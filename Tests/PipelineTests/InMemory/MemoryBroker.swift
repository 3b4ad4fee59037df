import Pipeline
import ServiceRuntime
import Synchronization

@testable import AMQP

/// A broker in memory.
///
/// It keeps published messages, rejects some if a test requests it, and makes messages as if from a queue.
final class MemoryBroker: MessagePublisher {
    struct State {
        var confirmed: [OutgoingMessage] = []
        /// The number of further messages that are not confirmed.
        var refusalsToCome = 0
        /// Whether it has an alarm and accepts no message.
        var isBlocked = false
        var lastNumber: UInt64 = 0
    }

    let state = Mutex(State())

    var isConnected: Bool { true }
    var isBlocked: Bool { state.withLock(\.isBlocked) }

    func publish(inOrder messages: [OutgoingMessage]) async -> [PublishOutcome] { await publish(messages) }

    func publish(_ messages: [OutgoingMessage]) async -> [PublishOutcome] {
        state.withLock { state in
            messages.map { message in
                guard !state.isBlocked else { return .notSent("an alarm") }
                guard state.refusalsToCome == 0 else {
                    state.refusalsToCome -= 1
                    return .refused
                }
                state.confirmed.append(message)
                return .confirmed
            }
        }
    }

    /// Returns the messages at an exchange.
    func messages(at exchange: String) -> [OutgoingMessage] {
        state.withLock { $0.confirmed.filter { $0.exchange == exchange } }
    }

    /// Takes the messages at all exchanges whose names begin with `prefix`.
    func take(from prefix: String) -> [OutgoingMessage] {
        state.withLock { state in
            defer { state.confirmed.removeAll { $0.exchange.hasPrefix(prefix) } }
            return state.confirmed.filter { $0.exchange.hasPrefix(prefix) }
        }
    }

    /// Returns a message as a consumer receives it.
    func arriving(
        _ body: [UInt8],
        from queue: String,
        by exchange: String,
        _ routingKey: String,
        redelivered: Bool = false
    ) -> IncomingMessage {
        let properties = MessageProperties(contentType: "application/json")
        return arriving(body, from: queue, by: (exchange, routingKey), properties, redelivered: redelivered)
    }

    /// Returns a message with the given properties as a consumer receives it.
    func arriving(
        _ body: [UInt8] = [],
        from queue: String,
        by way: (exchange: String, routingKey: String) = ("", ""),
        _ properties: MessageProperties,
        redelivered: Bool = false
    ) -> IncomingMessage {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let message = AssembledMessage(
            exchange: way.exchange,
            routingKey: way.routingKey,
            properties: properties,
            body: body
        )
        let delivery = Delivery(
            subscription: 0,
            number: number,
            redelivered: redelivered,
            message: message
        )
        return IncomingMessage(delivery, queue: queue, epoch: 1)
    }
}
