/// Sends batches of HTTP requests, independently of the library underneath.
package protocol HTTPTransport: Sendable {
    /// Sends all of `requests` and returns one outcome for each, in the same order, when the last of them has ended.
    ///
    /// It never throws: a request that cannot be sent has an outcome like any other. A peer processes a POST at most
    /// once. Other methods, which are safe to repeat, may be repeated automatically if a connection ends and they have
    /// no body. If the calling task is cancelled, unanswered requests are abandoned immediately as `cancelled`.
    func send(_ requests: [TransferRequest]) async -> [TransferOutcome]

    /// Stops new requests on the connections that are open now; later requests use new ones.
    ///
    /// This is for peers that tie a property to a connection that no request can change later.
    func retireConnections()

    /// Accepts no more requests, gives those in flight a bounded time to end, and then releases everything.
    ///
    /// It returns after the release, or shortly before it if that time was too short. Requests that still wait for
    /// their turn are reported as not sent, and requests that do not end in time as unknown.
    func close() async
}

extension HTTPTransport {
    /// Does nothing, for transports whose peers tie no property to a connection.
    package func retireConnections() {}
}
