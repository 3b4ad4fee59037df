/// Why something between Bellhop and the broker did not work.
///
/// The text says what was attempted, what came back and what to do; it never holds a password, a header or a body.
package struct AMQPError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it was, for code that has to decide.
    package enum Code: String, Sendable {
        /// The broker's address cannot be read.
        case invalidAddress
        /// A name, a table or a message that the protocol cannot carry; nothing was sent.
        case invalidArgument
        /// No host answered: resolution, connection or its time limit.
        case unreachable
        /// TLS failed: an unknown authority, another host's certificate, no common version, an unreadable key file.
        case tls
        /// Wrong user or password, no right to the virtual host, or 403 on an operation.
        case accessRefused
        /// 404: the queue or exchange does not exist.
        case notFound
        /// 406: it exists with other properties, or a property of a message is wrong.
        case preconditionFailed
        /// The broker closed the channel for another reason; `replyCode` says which.
        case channelClosed
        /// The broker closed the connection; `replyCode` says why.
        case connectionClosed
        /// The connection broke, or its peer fell silent.
        case connectionLost
        /// No answer within the time limit.
        case timedOut
        /// The broker or the library did what the protocol does not allow.
        case protocolViolation
    }

    package let code: Code

    /// The broker's own number (404, 406, 320, …) where it gave one.
    package let replyCode: UInt16?

    package let description: String

    init(_ code: Code, replyCode: UInt16? = nil, _ description: String) {
        self.code = code
        self.replyCode = replyCode
        self.description = description
    }
}

extension AMQPError {
    /// Whether only a channel ended, and its connection goes on.
    var isAboutChannel: Bool {
        switch code {
        case .notFound, .preconditionFailed, .channelClosed: true
        case .accessRefused: replyCode == 403
        default: false
        }
    }
}
