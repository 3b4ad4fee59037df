import Pipeline
import ServiceRuntime
import Synchronization

@testable import AMQP

/// A broker in memory: keeps what is published, refuses when it is asked to, and makes messages that look as if they had
/// come from a queue.
final class MemoryBroker: MessagePublisher {
    struct State {
        var confirmed: [OutgoingMessage] = []
        /// So many of the next messages are not confirmed.
        var refusalsToCome = 0
        /// It has an alarm, and takes nothing from anybody.
        var isBlocked = false
        var lastNumber: UInt64 = 0
    }

    let state = Mutex(State())

    var isConnected: Bool { true }
    var isBlocked: Bool { state.withLock(\.isBlocked) }

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

    /// What lies at an exchange.
    func messages(at exchange: String) -> [OutgoingMessage] {
        state.withLock { $0.confirmed.filter { $0.exchange == exchange } }
    }

    /// Takes what lies at the exchanges whose names begin like this.
    func take(from prefix: String) -> [OutgoingMessage] {
        state.withLock { state in
            defer { state.confirmed.removeAll { $0.exchange.hasPrefix(prefix) } }
            return state.confirmed.filter { $0.exchange.hasPrefix(prefix) }
        }
    }

    /// A message as a consumer gets it.
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

    /// The same with properties that matter.
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
        let message = ReceivedMessage(
            exchange: way.exchange,
            routingKey: way.routingKey,
            properties: properties,
            body: body
        )
        let delivery = Delivery(
            subscription: 0,
            number: number,
            redelivered: redelivered,
            message: message,
            cost: body.count
        )
        return IncomingMessage(delivery, queue: queue, epoch: 1)
    }
}
