import ServiceRuntime

/// Forwards each SIGHUP to all processes, which reload their catalogues.
struct SIGHUPForwarder: Service {
    let name = "catalogues"
    private let seats: [SupervisedProcess]
    private let logger: Logger
    private let signals: AsyncStream<ProcessSignal>

    init(_ seats: [SupervisedProcess], logger: Logger) {
        self.seats = seats
        self.logger = logger
        // From here on a SIGHUP no longer ends the process.
        signals = ProcessSignal.arrivals(of: [.hangup])
    }

    func run(until drain: DrainSignal) async throws {
        await ProcessSignal.attend(signals, until: drain) {
            logger.notice("forwarding SIGHUP to all processes")
            for seat in seats { seat.hangUp() }
        }
    }
}
