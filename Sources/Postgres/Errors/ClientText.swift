/// The client library's texts about a connection, which contain questions and guesses, as plain facts.
enum ClientText {
    /// Returns a text about a failed connection with the address first, such as `127.0.0.1:5432 refuses connections`.
    ///
    /// The text may name several addresses. Messages of a server, such as `FATAL`, stay as they are.
    static func plain(_ text: String, hasTimedOut: Bool = false) -> String {
        let place = #/connection to server (?:at "([^"]*)"(?: \([^)]*\))?, port ([0-9]+)|on socket "([^"]*)") failed: /#
        let named = text.replacing(place) { found in
            let (_, host, port, socket) = found.output
            return "\(address(host: String(host ?? socket ?? ""), port: port.map(String.init) ?? "")): "
        }
        let closed = hasTimedOut ? " accepts the connection and does not answer" : " closed the connection"
        return
            named
            .replacing(#/: Connection refused(?:; Is the server running[^?]*\?)?/#, with: " refuses connections")
            .replacing(#/: No such file or directory(?:; Is the server running[^?]*\?)?/#, with: " has no server")
            .replacing(#/: server closed the connection unexpectedly(?:; This probably means[^.]*\.)?/#, with: closed)
    }

    /// Returns a text about the loss of an open connection, which does not name the server.
    static func loss(_ text: String, of address: String) -> String {
        guard !text.isEmpty else { return "the connection is gone" }
        return text.replacing(
            #/server closed the connection unexpectedly(?:; This probably means[^.]*\.)?/#,
            with: "\(address) closed the connection"
        )
    }

    /// Returns a server's address; a socket's folder or file has no port.
    static func address(host: String, port: String) -> String {
        guard !host.hasPrefix("/"), !port.isEmpty else { return host }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
