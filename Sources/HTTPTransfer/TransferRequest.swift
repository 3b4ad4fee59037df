/// One HTTP request, complete in memory.
package struct TransferRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package typealias Header = (name: String, value: String)

    package var method: Method

    /// An absolute URL in ASCII, without spaces; `https` unless the transport allows plain HTTP.
    package var url: String

    /// Sent in this order.
    ///
    /// Names and values that could break the framing are refused before anything is sent, and so are the headers that
    /// belong to the transport (lengths, encodings and connection control).
    package var headers: [Header]

    /// Sent with its length, whatever the method; a GET must not have one.
    ///
    /// No content type is added.
    package var body: [UInt8]

    package var timeouts: TransferTimeouts

    package init(
        _ method: Method,
        url: String,
        headers: [Header] = [],
        body: [UInt8] = [],
        timeouts: TransferTimeouts = TransferTimeouts()
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeouts = timeouts
    }
}

/// How long one transfer may take.
///
/// The clock starts when it leaves the transport's own queue, not before.
package struct TransferTimeouts: Hashable, Sendable {
    /// From the start to the last byte of the answer.
    package var total: Duration

    /// Name look-up, TCP and TLS together; counts only where a new connection is opened.
    package var connect: Duration

    /// What is longer counts as this, so that arithmetic on points in time cannot overflow.
    static let longest = Duration.seconds(86_400)

    package init(total: Duration = .seconds(30), connect: Duration = .seconds(10)) {
        self.total = total
        self.connect = connect
    }
}
