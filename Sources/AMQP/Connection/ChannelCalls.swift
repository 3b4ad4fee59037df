import CRabbitMQ

/// Calls that wait for the broker's answer. An answer that closes the channel is acknowledged and thrown; the channel's
/// number may then be opened again.
extension Connection {
    func openChannel(_ channel: UInt16) throws(AMQPError) {
        try answered(amqp_channel_open(state, channel), channel, "open a channel")
    }

    func closeChannel(_ channel: UInt16) throws(AMQPError) {
        try check(amqp_channel_close(state, channel, AMQP_REPLY_SUCCESS), channel, "close a channel")
    }

    func selectConfirms(_ channel: UInt16) throws(AMQPError) {
        try answered(amqp_confirm_select(state, channel), channel, "switch confirms on")
    }

    /// How many unacknowledged messages the next consumers of this channel may hold each.
    func setPrefetch(_ count: UInt16, channel: UInt16) throws(AMQPError) {
        try answered(amqp_basic_qos(state, channel, 0, count, 0), channel, "set a prefetch of \(count)")
    }

    func consume(_ queue: String, tag: String, channel: UInt16) throws(AMQPError) {
        let name = try arena.short(queue, "the name of a queue")
        let label = try arena.short(tag, "a consumer's tag")
        let arguments = amqp_table_t(num_entries: 0, entries: nil)
        let answer = amqp_basic_consume(state, channel, name, label, 0, 0, 0, arguments)
        try answered(answer, channel, "consume from \(queue)")
    }

    /// The counts of a queue that exists; throws `notFound` else, which costs the channel.
    func checkQueue(_ queue: String, channel: UInt16) throws(AMQPError) -> QueueCounts {
        let name = try arena.short(queue, "the name of a queue")
        let arguments = amqp_table_t(num_entries: 0, entries: nil)
        let answer = amqp_queue_declare(state, channel, name, 1, 1, 0, 0, arguments)
        return QueueCounts(try answered(answer, channel, "look at queue \(queue)"))
    }

    /// Makes a queue that ends with this connection; doing so twice is doing it once.
    ///
    /// It keeps few messages, and none for longer than a minute.
    func makeOwnQueue(_ name: String, channel: UInt16) throws(AMQPError) {
        let queue = try arena.short(name, "the name of a queue")
        var writer = FieldWriter(arena)
        let arguments = try writer.table([
            "x-queue-type": .string("classic"), "x-max-length": .int64(16), "x-message-ttl": .int64(60_000),
        ])
        try answered(amqp_queue_declare(state, channel, queue, 0, 0, 1, 0, arguments), channel, "make queue \(name)")
    }

    /// Throws away what waits in a queue, which takes the same right as to consume from it.
    func purge(_ name: String, channel: UInt16) throws(AMQPError) {
        let queue = try arena.short(name, "the name of a queue")
        try answered(amqp_queue_purge(state, channel, queue), channel, "read from queue \(name)")
    }

    /// Has an exchange hand what is published under a key to a queue; doing so twice is doing it once.
    func bind(_ name: String, for key: String, of exchange: String, channel: UInt16) throws(AMQPError) {
        let target = try arena.short(name, "the name of a queue")
        let source = try arena.short(exchange, "the name of an exchange")
        let route = try arena.short(key, "a routing key")
        let none = amqp_table_t(num_entries: 0, entries: nil)
        let bound = amqp_queue_bind(state, channel, target, source, route, none)
        try answered(bound, channel, "bind queue \(name) to \(exchange)")
    }

    /// Turns the usual answer of librabbitmq, a pointer or `NULL` with the reason kept aside, into a value or an error.
    @discardableResult
    func answered<Answer>(
        _ answer: UnsafeMutablePointer<Answer>?,
        _ channel: UInt16,
        _ what: @autoclosure () -> String
    ) throws(AMQPError) -> Answer {
        arena.recycle()
        guard let answer else {
            try check(amqp_get_rpc_reply(state), channel, what())
            throw AMQPError(.protocolViolation, "cannot \(what()): the broker's answer is empty")
        }
        return answer.pointee
    }

    func check(_ reply: amqp_rpc_reply_t, _ channel: UInt16, _ what: @autoclosure () -> String) throws(AMQPError) {
        switch reply.reply_type {
        case AMQP_RESPONSE_NORMAL: return
        case AMQP_RESPONSE_SERVER_EXCEPTION:
            throw try acknowledge(reply.reply, channel).error("cannot \(what())")
        default: throw failure(reply.library_error, what())
        }
    }

    /// Answers `channel.close` or `connection.close`, without which the channel's number stays unusable.
    func acknowledge(_ method: amqp_method_t, _ channel: UInt16) throws(AMQPError) -> BrokerRefusal {
        let refusal = BrokerRefusal(method)
        if refusal.closesConnection {
            try send(AMQP_CONNECTION_CLOSE_OK_METHOD, channel: 0, amqp_connection_close_ok_t(), "end the connection")
        } else {
            try send(AMQP_CHANNEL_CLOSE_OK_METHOD, channel: channel, amqp_channel_close_ok_t(), "end a channel")
        }
        return refusal
    }
}

/// How many messages wait in a queue and how many consumers it has.
///
/// The broker updates the first only every few seconds.
package struct QueueCounts: Sendable, Equatable {
    package let messages: Int
    package let consumers: Int

    init(_ answer: amqp_queue_declare_ok_t) {
        messages = Int(answer.message_count)
        consumers = Int(answer.consumer_count)
    }
}
