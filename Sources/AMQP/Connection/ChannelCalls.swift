import CRabbitMQ

/// Calls that wait for the broker's answer.
///
/// If an answer closes the channel, it is acknowledged and thrown. The channel's number can then be opened again.
extension BrokerConnection {
    func openChannel(_ channel: UInt16) throws(AMQPError) {
        try answered(amqp_channel_open(state, channel), channel, "open a channel")
    }

    func closeChannel(_ channel: UInt16) throws(AMQPError) {
        try check(amqp_channel_close(state, channel, AMQP_REPLY_SUCCESS), channel, "close a channel")
    }

    func selectConfirms(_ channel: UInt16) throws(AMQPError) {
        try answered(amqp_confirm_select(state, channel), channel, "switch confirms on")
    }

    /// Sets the number of unacknowledged messages for each later consumer of this channel.
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

    /// Returns the counts of an existing queue.
    ///
    /// Otherwise it throws `notFound`, and the broker closes the channel.
    func checkQueue(_ queue: String, channel: UInt16) throws(AMQPError) -> QueueCounts {
        let name = try arena.short(queue, "the name of a queue")
        let arguments = amqp_table_t(num_entries: 0, entries: nil)
        let answer = amqp_queue_declare(state, channel, name, 1, 1, 0, 0, arguments)
        return QueueCounts(try answered(answer, channel, "look at queue \(queue)"))
    }

    /// Declares a queue that ends with this connection; repeating the call has no effect.
    ///
    /// It holds at most 16 messages, each for at most one minute.
    func makeOwnQueue(_ name: String, channel: UInt16) throws(AMQPError) {
        let queue = try arena.short(name, "the name of a queue")
        var writer = FieldTableEncoder(arena)
        let arguments = try writer.table([
            "x-queue-type": .string("classic"), "x-max-length": .int64(16), "x-message-ttl": .int64(60_000),
        ])
        try answered(amqp_queue_declare(state, channel, queue, 0, 0, 1, 0, arguments), channel, "make queue \(name)")
    }

    /// Deletes the ready messages of a queue, which requires the same permission as consuming from it.
    func purge(_ name: String, channel: UInt16) throws(AMQPError) {
        let queue = try arena.short(name, "the name of a queue")
        try answered(amqp_queue_purge(state, channel, queue), channel, "read from queue \(name)")
    }

    /// Binds a queue to an exchange for a routing key; repeating the call has no effect.
    func bind(_ name: String, for key: String, of exchange: String, channel: UInt16) throws(AMQPError) {
        let target = try arena.short(name, "the name of a queue")
        let source = try arena.short(exchange, "the name of an exchange")
        let route = try arena.short(key, "a routing key")
        let none = amqp_table_t(num_entries: 0, entries: nil)
        let bound = amqp_queue_bind(state, channel, target, source, route, none)
        try answered(bound, channel, "bind queue \(name) to \(exchange)")
    }

    /// Converts the usual result of librabbitmq into a value or an error.
    ///
    /// The result is a pointer, or `NULL` with a separate reason.
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

    /// Answers `channel.close` or `connection.close`.
    ///
    /// Without this answer, the channel's number stays unusable.
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

/// The numbers of ready messages and of consumers of a queue.
///
/// The broker updates the first number only every few seconds.
package struct QueueCounts: Sendable, Equatable {
    package let messages: Int
    package let consumers: Int

    init(_ answer: amqp_queue_declare_ok_t) {
        messages = Int(answer.message_count)
        consumers = Int(answer.consumer_count)
    }
}
