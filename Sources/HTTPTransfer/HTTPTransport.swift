/// Sends batches of HTTP requests; what carries them stays behind this door.
package protocol HTTPTransport: Sendable {
    /// Sends all of `requests` and gives one outcome for each, in the same order, once the last of them has ended.
    ///
    /// Never throws: a request that cannot be sent is an outcome like any other. A peer processes a POST once at most;
    /// other methods, which are safe to repeat, may be repeated unseen when a connection dies and they have no body. If the
    /// calling task is cancelled, the requests that have no answer yet are abandoned at once as `cancelled`.
    func send(_ requests: [TransferRequest]) async -> [TransferOutcome]

    /// Gives the connections that are open now nothing more; later requests go over new ones.
    ///
    /// For a peer that ties something to a connection that no request can change any more.
    func retireConnections()

    /// Stops taking requests, gives those in flight a bounded time to end, and returns when everything is released, or is
    /// about to be where that time was too short.
    ///
    /// Requests that still wait for their turn are reported as not sent, those that do not end in time as unknown.
    func close() async
}

extension HTTPTransport {
    /// Nothing: for transports whose peers tie nothing to a connection.
    package func retireConnections() {}
}
