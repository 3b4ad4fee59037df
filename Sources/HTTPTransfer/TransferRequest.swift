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

    /// The headers in the order in which they are sent.
    ///
    /// Names and values that could break the framing are rejected before anything is sent. So are the headers that are
    /// reserved for the transport (lengths, encodings and connection control).
    package var headers: [Header]

    /// The body, which is sent with its length, whatever the method; a GET must not have one.
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

/// The time limits of one transfer.
///
/// The clock starts when the transfer leaves the transport's queue.
package struct TransferTimeouts: Hashable, Sendable {
    /// The time from the start to the last byte of the answer.
    package var total: Duration

    /// The time for name look-up, TCP and TLS together; it applies only if a new connection is opened.
    package var connect: Duration

    /// The maximum of any limit, so that arithmetic on instants cannot overflow.
    static let longest = Duration.seconds(86_400)

    package init(total: Duration = .seconds(30), connect: Duration = .seconds(10)) {
        self.total = total
        self.connect = connect
    }
}
