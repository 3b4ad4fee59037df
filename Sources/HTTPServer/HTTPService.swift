package import ServiceRuntime
import Synchronization

/// An HTTP server as a service of the process: it listens when it runs and drains with the group.
package final class HTTPService: Service {
    /// The address to listen on, and the name of the setting that defines it.
    package struct Place: Sendable {
        package let address: ListenAddress
        package let setting: String

        package init(_ address: ListenAddress, from setting: String) {
            self.address = address
            self.setting = setting
        }
    }

    package let name: String
    private let place: Place
    private let limits: HTTPLimits
    private let grace: Duration
    private let admission: HTTPAdmission?
    private let logger: Logger
    private let handler: HTTPHandler
    private let running = Mutex<ListenAddress?>(nil)

    /// Creates the service; after the drain, running handlers have at most `grace` to answer.
    package init(
        name: String,
        at place: Place,
        limits: HTTPLimits = HTTPLimits(),
        grace: Duration = .seconds(5),
        logger: Logger,
        admission: HTTPAdmission? = nil,
        handler: @escaping HTTPHandler
    ) {
        self.name = name
        self.place = place
        self.limits = limits
        self.grace = grace
        self.logger = logger
        self.admission = admission
        self.handler = handler
    }

    /// The address on which it currently listens, with the real port; `nil` before and after.
    package var boundAddress: ListenAddress? { running.withLock { $0 } }

    /// Serves until the drain, then answers the requests that it has received.
    ///
    /// Throws a `CommandFailure` that names the address and its setting if it cannot listen.
    package func run(until drain: DrainSignal) async throws {
        let server = try start()
        running.withLock { $0 = server.address }
        logger.notice("listening", ["service": .text(name), "address": .text("http://\(server.address)")])
        await drain.wait()
        running.withLock { $0 = nil }
        await server.stop(grace: grace)
    }

    private func start() throws -> HTTPServer {
        do {
            return try HTTPServer.start(
                listen: place.address,
                limits: limits,
                admission: admission,
                handler: handler
            )
        } catch let error as HTTPServerError {
            throw CommandFailure(
                .configuration,
                attempted: "listening on \(error.address) (\(place.setting)) for the \(name)",
                cameBack: error.cameBack,
                whatToDo: error.advice
            )
        }
    }
}
