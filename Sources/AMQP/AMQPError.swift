import CRabbitMQ

/// An error between Bellhop and the broker.
///
/// The text names the attempted operation, the response and, if possible, a remedy. It never contains a password, a
/// header or a body.
package struct AMQPError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure, for code that has to decide.
    package enum Code: String, Sendable {
        /// The broker's address cannot be parsed.
        case invalidAddress
        /// The protocol cannot carry a name, a table or a message.
        ///
        /// Nothing was sent.
        case invalidArgument
        /// No host answered: name resolution, the connection or its time limit failed.
        case unreachable
        /// TLS failed: an unknown authority, another host's certificate, no common version or an unreadable key file.
        case tls
        /// The user or password is wrong, the user may not use the virtual host, or an operation returned 403.
        case accessRefused
        /// 404: The queue or exchange does not exist.
        case notFound
        /// 406: The queue or exchange exists with other properties, or a property of a message is invalid.
        case preconditionFailed
        /// The broker closed the channel for another reason, which `replyCode` gives.
        case channelClosed
        /// The broker closed the connection for the reason in `replyCode`.
        case connectionClosed
        /// The connection broke, or the peer stopped sending heartbeats.
        case connectionLost
        /// The broker did not answer within the time limit.
        case timedOut
        /// The broker or the library violated the protocol.
        case protocolViolation
    }

    package let code: Code

    /// The broker's reply code (404, 406, 320, …), or `nil` if the broker sent none.
    package let replyCode: UInt16?

    package let description: String

    init(_ code: Code, replyCode: UInt16? = nil, _ description: String) {
        self.code = code
        self.replyCode = replyCode
        self.description = description
    }

    /// Whether the error ended only a channel and its connection still works.
    var isAboutChannel: Bool {
        switch code {
        case .notFound, .preconditionFailed, .channelClosed: true
        case .accessRefused: replyCode == 403
        default: false
        }
    }
}

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
