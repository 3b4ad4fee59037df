import HTTPServer
import ServiceRuntime
import TestSupport

extension ListenAddress {
    static let anyLoopback = ListenAddress(host: "127.0.0.1", port: 0)
}

/// Runs a body with a server on a dedicated port, and stops the server afterwards.
func withServer<Value>(
    limits: HTTPLimits = HTTPLimits(),
    handler: @escaping HTTPHandler,
    _ body: (HTTPServer) async throws -> Value
) async throws -> Value {
    let server = try HTTPServer.start(listen: .anyLoopback, limits: limits, handler: handler)
    do {
        let value = try await body(server)
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}
