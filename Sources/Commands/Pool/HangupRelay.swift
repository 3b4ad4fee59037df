import ServiceRuntime

/// Passes each SIGHUP of the pool on to all of its workers, which read the catalogues again.
struct HangupRelay: Service {
    let name = "catalogues"
    private let seats: [WorkerSeat]
    private let logger: Logger
    private let signals: AsyncStream<ProcessSignal>

    init(_ seats: [WorkerSeat], logger: Logger) {
        self.seats = seats
        self.logger = logger
        // From here on a SIGHUP no longer ends the pool.
        signals = ProcessSignal.arrivals(of: [.hangup])
    }

    func run(until drain: DrainSignal) async throws {
        await ProcessSignal.attend(signals, until: drain) {
            logger.notice("all workers are told to read the catalogues again")
            for seat in seats { seat.hangUp() }
        }
    }
}
