import Foundation
import TestSupport

/// Runs `body` with a connected client on a dedicated thread, so that blocking reads do not occupy the handlers' pool.
func withClient<Value: Sendable>(
    _ port: UInt16,
    _ body: @escaping @Sendable (RawClient) -> Value
) async -> Value? {
    await onOwnThread { RawClient(port: port).map(body) }
}

/// Sends the request and reads until the server closes the connection.
func exchange(_ port: UInt16, _ request: String) async -> String {
    await withClient(port) { client in
        client.send(request)
        return client.readAll()
    } ?? "no connection"
}

/// Sends a plain request that asks the server to close the connection.
func get(_ port: UInt16, _ path: String, method: String = "GET") async -> String {
    await exchange(port, "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

extension String {
    /// The status code, such as `200` in `HTTP/1.1 200 OK`.
    var status: String {
        split(separator: " ").dropFirst().first.map(String.init) ?? ""
    }

    /// The text after the empty line.
    var content: String {
        range(of: "\r\n\r\n").map { String(self[$0.upperBound...]) } ?? ""
    }
}
