/// The steps of a service group from running to its end: a pure state machine with events as input and actions as
/// output.
struct GroupProgress {
    enum Event {
        case signal(ProcessSignal)
        /// The echo time is over: a further signal is not an echo of the first.
        case echoesOver
        /// The task that runs the group was cancelled.
        case cancelled
        case finished(Int, (any Error)?)
        /// The time for draining is over.
        case drainTimeUp
        /// The time for ending after a cancellation is over too.
        case cancelTimeUp
    }

    enum Action {
        case drain(GroupExit.Cause)
        /// The first signal arrived: `echoesOver` must follow after a moment.
        case awaitEchoes
        case ignoreEcho(ProcessSignal)
        case cancelServices(running: [String])
        case endProcess(ProcessSignal)
        case end(GroupExit)
    }

    private enum Phase {
        case running
        case draining
        case cancelled
        case ended
    }

    /// The handling of further signals.
    ///
    /// One request to end often arrives as two signals: a terminal's Ctrl-C and a supervisor's SIGTERM, or a SIGTERM to
    /// the process and another to its group.
    private enum SignalDebounce {
        case unasked
        case hearingEchoes
        case asked
    }

    private let names: [String]
    private var phase = Phase.running
    private var running: Set<Int>
    private var ending: GroupExit = .drained(.request)
    private var patience = SignalDebounce.unasked

    init(names: [String]) {
        self.names = names
        running = Set(names.indices)
    }

    mutating func handle(_ event: Event) -> [Action] {
        guard phase != .ended else { return [] }
        switch event {
        case .signal(let signal): return handle(signal)
        case .echoesOver:
            patience = .asked
            return []
        case .cancelled: return drain(.request)
        case .finished(let index, let error): return finish(index, error)
        case .drainTimeUp: return cancel()
        case .cancelTimeUp: return phase == .cancelled ? end() : []
        }
    }

    private mutating func handle(_ signal: ProcessSignal) -> [Action] {
        switch patience {
        case .unasked:
            patience = .hearingEchoes
            return [.awaitEchoes] + drain(.signal(signal))
        case .hearingEchoes: return [.ignoreEcho(signal)]
        // A second signal requests an immediate end.
        case .asked: return [.endProcess(signal)]
        }
    }

    private mutating func finish(_ index: Int, _ error: (any Error)?) -> [Action] {
        guard running.remove(index) != nil else { return [] }
        var actions: [Action] = []
        if let error {
            // An error of a cancelled service is expected.
            if phase != .cancelled, !ending.isFailure { ending = .failed(service: names[index], error) }
            actions = drain(.service(names[index]))
        } else if phase == .running {
            ending = .returnedEarly(service: names[index])
            actions = drain(.service(names[index]))
        }
        return running.isEmpty ? actions + end() : actions
    }

    private mutating func drain(_ cause: GroupExit.Cause) -> [Action] {
        guard phase == .running else { return [] }
        phase = .draining
        if case .drained = ending { ending = .drained(cause) }
        return [.drain(cause)]
    }

    private mutating func cancel() -> [Action] {
        guard phase == .draining else { return [] }
        phase = .cancelled
        let late = running.sorted().map { names[$0] }
        if case .drained = ending { ending = .timedOut(services: late) }
        return [.cancelServices(running: late)]
    }

    private mutating func end() -> [Action] {
        phase = .ended
        return [.end(ending)]
    }
}
