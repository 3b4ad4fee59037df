import CRabbitMQ
import ServiceRuntime

/// A short series of calls to the broker: declaring or checking a topology, or fetching single messages.
///
/// Every call waits for its answer. If the broker rejects a call, it closes the channel. The session then throws the
/// refusal and continues with a new channel. Messages that were fetched before can no longer be settled, because they
/// are back in their queue. A session exists only inside `with`, and only on the thread that `with` created.
package final class BrokerSession {
    private static let channel: UInt16 = 1

    private let connection: BrokerConnection
    private var epoch = DeliveryTag.nextEpoch()
    private var unsettled: Set<UInt64> = []

    private init(_ connection: BrokerConnection) throws(AMQPError) {
        self.connection = connection
        try connection.openChannel(Self.channel)
    }

    /// Connects to the first host that answers, runs `body` on a dedicated thread, and closes the connection.
    ///
    /// Operators see `name` in the list of connections. Messages that were fetched and not settled return to their
    /// queue. Cancelling the task does not interrupt `body`.
    @discardableResult
    package static func with<Value: Sendable>(
        _ broker: BrokerAddress,
        name: String,
        _ body: @escaping @Sendable (BrokerSession) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { answer in
            NativeThread.start(named: "amqp-session", stackSize: BrokerConnection.stackSize) {
                answer.resume(with: Result { try run(broker, name, body) })
            }
        }
    }

    private static func run<Value>(
        _ broker: BrokerAddress,
        _ name: String,
        _ body: (BrokerSession) throws -> Value
    ) throws -> Value {
        let connection = try connect(broker, name)
        defer { connection.close(waiting: 2000) }
        return try body(try BrokerSession(connection))
    }

    private static func connect(_ broker: BrokerAddress, _ name: String) throws(AMQPError) -> BrokerConnection {
        var failures: [AMQPError] = []
        for host in broker.hosts {
            do throws(AMQPError) {
                return try BrokerConnection(to: broker, host, name: name, .receiving)
            } catch {
                failures.append(error)
            }
        }
        let nobody = AMQPError(.unreachable, "the broker's address names no host")
        guard failures.count > 1 else { throw failures.first ?? nobody }
        throw AMQPError(failures[0].code, failures.map(\.description).joined(separator: "; "))
    }

    // MARK: Topology

    /// Declares a durable exchange.
    ///
    /// Throws `preconditionFailed` if it exists with another kind or other arguments.
    package func declareExchange(_ name: String, kind: String, arguments: FieldTable = [:]) throws(AMQPError) {
        let (exchange, type) = (try text(name), try text(kind))
        let table = try self.table(arguments)
        try call("declare exchange \(name)") { amqp_exchange_declare($0, $1, exchange, type, 0, 1, 0, 0, table) }
    }

    /// Declares a durable queue.
    ///
    /// Throws `preconditionFailed` if it exists with other arguments.
    @discardableResult
    package func declareQueue(_ name: String, arguments: FieldTable = [:]) throws(AMQPError) -> QueueCounts {
        let queue = try text(name)
        let table = try self.table(arguments)
        let answer = try call("declare queue \(name)") { amqp_queue_declare($0, $1, queue, 0, 1, 0, 0, table) }
        return QueueCounts(answer)
    }

    /// Whether an exchange of that name exists, of any kind.
    package func checkExchange(_ name: String) throws(AMQPError) -> Bool {
        let (exchange, type) = (try text(name), try text("direct"))
        do throws(AMQPError) {
            let none = amqp_table_t(num_entries: 0, entries: nil)
            try call("look at exchange \(name)") { amqp_exchange_declare($0, $1, exchange, type, 1, 1, 0, 0, none) }
            return true
        } catch {
            guard error.code == .notFound else { throw error }
            return false
        }
    }

    /// Returns the counts of a queue with any arguments, or `nil` if no queue has that name.
    package func checkQueue(_ name: String) throws(AMQPError) -> QueueCounts? {
        do throws(AMQPError) {
            return try reopening { () throws(AMQPError) in
                try connection.checkQueue(name, channel: Self.channel)
            }
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// Binds a queue to an exchange; repeating the call has no effect.
    package func bind(
        _ queue: String,
        to exchange: String,
        key: String,
        arguments: FieldTable = [:]
    ) throws(AMQPError) {
        let (target, source, route) = (try text(queue), try text(exchange), try text(key))
        let table = try self.table(arguments)
        try call("bind \(queue) to \(exchange)") { amqp_queue_bind($0, $1, target, source, route, table) }
    }

    /// Removes a binding; a missing binding is not an error.
    package func unbind(
        _ queue: String,
        from exchange: String,
        key: String,
        arguments: FieldTable = [:]
    ) throws(AMQPError) {
        let (target, source, route) = (try text(queue), try text(exchange), try text(key))
        let table = try self.table(arguments)
        try call("unbind \(queue) from \(exchange)") { amqp_queue_unbind($0, $1, target, source, route, table) }
    }

    /// Deletes a queue with its messages; a missing queue is not an error.
    ///
    /// - Returns: The number of messages that it held.
    @discardableResult
    package func deleteQueue(_ name: String) throws(AMQPError) -> Int {
        let queue = try text(name)
        return Int(try call("delete queue \(name)") { amqp_queue_delete($0, $1, queue, 0, 0) }.message_count)
    }

    /// Deletes an exchange; a missing exchange is not an error.
    package func deleteExchange(_ name: String) throws(AMQPError) {
        let exchange = try text(name)
        try call("delete exchange \(name)") { amqp_exchange_delete($0, $1, exchange, 0) }
    }

    /// Deletes the ready messages of a queue, but not the unsettled ones, and returns their number.
    @discardableResult
    package func purge(_ name: String) throws(AMQPError) -> Int {
        let queue = try text(name)
        return Int(try call("purge queue \(name)") { amqp_queue_purge($0, $1, queue) }.message_count)
    }

    // MARK: Messages

    /// Fetches the oldest message of a queue, to be settled with its tag; `nil` if none is ready.
    package func get(_ queue: String) throws(AMQPError) -> IncomingMessage? {
        let name = try text(queue)
        return try reopening { () throws(AMQPError) in
            let reply = amqp_basic_get(connection.state, Self.channel, name, 0)
            connection.arena.recycle()
            try connection.check(reply, Self.channel, "get from \(queue)")
            guard reply.reply.id == AMQP_BASIC_GET_OK_METHOD, let decoded = reply.reply.decoded else { return nil }
            let found = decoded.assumingMemoryBound(to: amqp_basic_get_ok_t.self).pointee
            let delivery = try content(of: found)
            connection.releaseFrames()
            unsettled.insert(delivery.number)
            return IncomingMessage(delivery, queue: queue, epoch: epoch)
        }
    }

    /// Acknowledges a message, so that its queue deletes it.
    ///
    /// A tag of an earlier channel is ignored.
    package func acknowledge(_ tag: DeliveryTag) throws(AMQPError) {
        guard tag.epoch == epoch, unsettled.remove(tag.number) != nil else { return }
        let ack = amqp_basic_ack_t(delivery_tag: tag.number, multiple: 0)
        try connection.send(AMQP_BASIC_ACK_METHOD, channel: Self.channel, ack, "acknowledge a message")
    }

    /// Returns a message to its queue.
    ///
    /// A tag of an earlier channel is ignored.
    package func release(_ tag: DeliveryTag) throws(AMQPError) {
        guard tag.epoch == epoch, unsettled.remove(tag.number) != nil else { return }
        let nack = amqp_basic_nack_t(delivery_tag: tag.number, multiple: 0, requeue: 1)
        try connection.send(AMQP_BASIC_NACK_METHOD, channel: Self.channel, nack, "release a message")
    }

    private func content(of found: amqp_basic_get_ok_t) throws(AMQPError) -> Delivery {
        var assembler = MessageAssembler()
        assembler.begin(
            .delivery(subscription: 0, number: found.delivery_tag, redelivered: found.redelivered != 0),
            exchange: found.exchange,
            routingKey: found.routing_key
        )
        while let frame = try connection.nextFrame(waiting: 15_000) {
            if case .delivery(let delivery) = try take(frame.pointee, &assembler) { return delivery }
        }
        throw AMQPError(.timedOut, "the broker announced a message and did not send it")
    }

    private func take(
        _ frame: amqp_frame_t,
        _ assembler: inout MessageAssembler
    ) throws(AMQPError) -> MessageAssembler.Content? {
        switch Int32(frame.frame_type) {
        case AMQP_FRAME_HEADER: return try assembler.header(frame)
        case AMQP_FRAME_BODY: return try assembler.body(frame.payload.body_fragment)
        case AMQP_FRAME_METHOD:
            let method = frame.payload.method
            guard method.id == AMQP_CHANNEL_CLOSE_METHOD || method.id == AMQP_CONNECTION_CLOSE_METHOD else {
                return nil
            }
            throw try connection.acknowledge(method, frame.channel).error("cannot fetch a message")
        default: return nil
        }
    }

    // MARK: Calls

    private func text(_ name: String) throws(AMQPError) -> amqp_bytes_t {
        try connection.arena.short(name, "the name of a queue or exchange, or a routing key,")
    }

    private func table(_ table: FieldTable) throws(AMQPError) -> amqp_table_t {
        var writer = FieldTableEncoder(connection.arena)
        return try writer.table(table)
    }

    @discardableResult
    private func call<Answer>(
        _ what: String,
        _ body: (amqp_connection_state_t, UInt16) -> UnsafeMutablePointer<Answer>?
    ) throws(AMQPError) -> Answer {
        try reopening { () throws(AMQPError) in
            let answer = try connection.answered(body(connection.state, Self.channel), Self.channel, what)
            connection.releaseFrames()
            return answer
        }
    }

    /// Runs a call, and opens the channel again if the call closed it.
    private func reopening<Value>(_ body: () throws(AMQPError) -> Value) throws(AMQPError) -> Value {
        do throws(AMQPError) {
            return try body()
        } catch {
            guard error.isAboutChannel else { throw error }
            epoch = DeliveryTag.nextEpoch()
            unsettled = []
            try connection.openChannel(Self.channel)
            throw error
        }
    }
}
