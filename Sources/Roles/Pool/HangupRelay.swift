import ServiceRuntime

/// Forwards each SIGHUP to all processes, which reload their catalogues.
struct HangupRelay: Service {
    let name = "catalogues"
    private let seats: [RoleSeat]
    private let logger: Logger
    private let signals: AsyncStream<ProcessSignal>

    init(_ seats: [RoleSeat], logger: Logger) {
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
