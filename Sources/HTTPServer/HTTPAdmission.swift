/// Decides by the head of a request whether its body is received.
///
/// It is called only if a body is announced. It runs on the server's only thread, so it must be short and must not
/// wait.
package typealias HTTPAdmission = @Sendable (HTTPRequest) -> BodyAdmission

/// The decision about a request whose body has not been received yet.
package enum BodyAdmission: Sendable {
    /// The body is received up to this number of bytes; a longer body is answered with 413.
    case receive(atMost: Int)
    /// The request is answered without its body, and the connection is closed.
    case refuse(HTTPResponse)
}
