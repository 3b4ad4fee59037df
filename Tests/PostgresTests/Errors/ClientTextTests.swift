import Testing

@testable import Postgres

@Suite("Texts of the client library")
struct ClientTextTests {
    private static let closed = """
        server closed the connection unexpectedly; This probably means the server terminated abnormally; before or \
        while processing the request.
        """

    private static let places: [(String, String)] = [
        (#"at "127.0.0.1", port 5432"#, "127.0.0.1:5432"), (#"at "db" (10.0.0.7), port 6432"#, "db:6432"),
        (#"at "::1", port 5432"#, "[::1]:5432"), (#"on socket "/run/.s.PGSQL.5432""#, "/run/.s.PGSQL.5432"),
    ]

    @Test("a failed connection is one fact with the address, without a question or a guess")
    func failed() {
        for (place, address) in Self.places {
            let begin = "connection to server \(place) failed: "
            let question = "Connection refused; Is the server running on that host and accepting TCP/IP connections?"
            #expect(ClientText.plain(begin + question) == address + " refuses connections")
            #expect(ClientText.plain(begin + Self.closed) == address + " closed the connection")
            let silent = ClientText.plain(begin + Self.closed, hasTimedOut: true)
            #expect(silent == address + " accepts the connection and does not answer")
            let fatal = "FATAL:  57P03: the database system is starting up"
            #expect(ClientText.plain(begin + fatal) == address + ": " + fatal)
        }
        let absent =
            "No such file or directory; Is the server running locally and accepting connections on that socket?"
        let socket = #"connection to server on socket "/tmp/.s.PGSQL.1" failed: "#
        #expect(ClientText.plain(socket + absent) == "/tmp/.s.PGSQL.1 has no server")
    }

    @Test("each of several servers is named, and a text without a server stays as it is")
    func several() {
        let refused = #"connection to server at "a", port 1 failed: Connection refused"#
        let both = refused + #"; connection to server at "b", port 2 failed: timeout expired"#
        #expect(ClientText.plain(both) == "a:1 refuses connections; b:2: timeout expired")
        let unknown = #"could not translate host name "db" to address: Name or service not known"#
        #expect(ClientText.plain(unknown) == unknown)
    }

    @Test("the loss of an open connection names the server")
    func lost() {
        #expect(ClientText.loss(Self.closed, of: "127.0.0.1:5432") == "127.0.0.1:5432 closed the connection")
        #expect(ClientText.loss("", of: "127.0.0.1:5432") == "the connection is gone")
        let reset = "could not receive data from server: Connection reset by peer"
        #expect(ClientText.loss(reset, of: "127.0.0.1:5432") == reset)
    }
}
