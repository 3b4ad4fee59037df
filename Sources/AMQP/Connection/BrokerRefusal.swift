import CRabbitMQ

/// The broker's reason for closing a channel or a connection.
struct BrokerRefusal {
    let closesConnection: Bool
    let replyCode: UInt16
    let text: String

    /// Reads `channel.close` or `connection.close`, which have the same fields.
    init(_ method: amqp_method_t) {
        closesConnection = method.id == AMQP_CONNECTION_CLOSE_METHOD
        guard let decoded = method.decoded else {
            (replyCode, text) = (0, "no reason given")
            return
        }
        if closesConnection {
            let close = decoded.assumingMemoryBound(to: amqp_connection_close_t.self).pointee
            (replyCode, text) = (close.reply_code, String(close.reply_text))
        } else {
            let close = decoded.assumingMemoryBound(to: amqp_channel_close_t.self).pointee
            (replyCode, text) = (close.reply_code, String(close.reply_text))
        }
    }

    /// The size limit for bodies, if the broker closed the channel because of a larger body, else `nil`.
    ///
    /// Example of the text: "message size 9 is larger than configured max size 8".
    var bodyLimit: Int? {
        guard code == .preconditionFailed, text.contains("message size"), text.contains("max size") else { return nil }
        return text.split(separator: " ").last.flatMap { Int($0) }
    }

    func error(_ attempt: String) -> AMQPError {
        AMQPError(code, replyCode: replyCode, "\(attempt): the broker answers \(replyCode) \(text)")
    }

    private var code: AMQPError.Code {
        switch (replyCode, closesConnection) {
        case (403, _), (530, true): .accessRefused
        case (_, true): .connectionClosed
        case (404, false): .notFound
        case (406, false): .preconditionFailed
        default: .channelClosed
        }
    }
}
