import Testing

@testable import ServiceRuntime

@Suite("The steps of a service group")
struct GroupProgressTests {
    private struct Failure: Error {}

    /// Returns the actions as texts, so that whole sequences can be compared.
    private func words(_ actions: [GroupProgress.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .drain(let cause): "drain because of \(cause)"
            case .awaitEchoes: "await echoes"
            case .ignoreEcho(let signal): "ignore \(signal.name)"
            case .cancelServices(let names): "cancel \(names.joined(separator: ","))"
            case .endProcess(let signal): "end process on \(signal.name)"
            case .end(.drained(let cause)): "drained because of \(cause)"
            case .end(.timedOut(let names)): "timed out \(names.joined(separator: ","))"
            case .end(.failed(let name, _)): "failed \(name)"
            case .end(.returnedEarly(let name)): "returned early \(name)"
            }
        }
    }

    private func course(_ events: [GroupProgress.Event]) -> [[String]] {
        var progress = GroupProgress(names: ["a", "b"])
        return events.map { words(progress.handle($0)) }
    }

    @Test("a signal drains the group, and the last service to finish ends it")
    func signal() {
        #expect(
            course([.signal(.terminate), .finished(1, nil), .finished(0, nil)])
                == [["await echoes", "drain because of SIGTERM"], [], ["drained because of SIGTERM"]]
        )
    }

    @Test("services that outlast the drain are cancelled and named, and their later errors do not count")
    func timeout() {
        #expect(
            course([.signal(.interrupt), .finished(0, nil), .drainTimeUp, .finished(1, Failure())])
                == [["await echoes", "drain because of SIGINT"], [], ["cancel b"], ["timed out b"]]
        )
    }

    @Test("a service that ignores its cancellation is left behind")
    func ignoredCancellation() {
        #expect(
            course([.cancelled, .drainTimeUp, .cancelTimeUp, .finished(0, nil)])
                == [["drain because of a request"], ["cancel a,b"], ["timed out a,b"], []]
        )
    }

    @Test("the first service that throws drains the others and names the end")
    func failure() {
        #expect(
            course([.finished(1, Failure()), .finished(0, Failure())])
                == [["drain because of the end of b"], ["failed b"]]
        )
    }

    @Test("a failure during the drain is reported")
    func failureWhileDraining() {
        #expect(
            course([.signal(.terminate), .finished(0, Failure()), .finished(1, nil)])
                == [["await echoes", "drain because of SIGTERM"], [], ["failed a"]]
        )
    }

    @Test("a service that returns early drains the others")
    func earlyReturn() {
        #expect(
            course([.finished(0, nil), .signal(.terminate), .finished(1, nil)])
                == [["drain because of the end of a"], ["await echoes"], ["returned early a"]]
        )
    }

    @Test("the second signal ends the process immediately, and the first one after a failure does not")
    func secondSignal() {
        #expect(
            course([.finished(0, Failure()), .signal(.interrupt), .echoesOver, .signal(.terminate)])
                == [["drain because of the end of a"], ["await echoes"], [], ["end process on SIGTERM"]]
        )
    }

    @Test("signals of any kind shortly after the first one are its echo")
    func echoes() {
        #expect(
            course([.signal(.interrupt), .signal(.terminate), .signal(.interrupt), .echoesOver, .signal(.interrupt)])
                == [
                    ["await echoes", "drain because of SIGINT"], ["ignore SIGTERM"], ["ignore SIGINT"], [],
                    ["end process on SIGINT"],
                ]
        )
    }

    @Test("an end is described in a sentence")
    func sentences() {
        #expect("\(GroupExit.drained(.signal(.terminate)))" == "drained, because of SIGTERM")
        #expect("\(GroupExit.timedOut(services: ["a", "b"]))".hasPrefix("a, b did not finish in time"))
        #expect("\(GroupExit.returnedEarly(service: "a"))" == "a ended unexpectedly")
        let unreachable = CommandFailure(.unavailable, attempted: "a", cameBack: "b", whatToDo: "c")
        #expect("\(GroupExit.failed(service: "x", unreachable))" == "x failed: a: b; c")
    }

    @Test("late timers and services that finish twice have no effect")
    func strays() {
        #expect(
            course([
                .drainTimeUp, .cancelTimeUp, .signal(.terminate), .finished(0, nil), .finished(0, nil),
                .finished(9, nil),
            ])
                == [[], [], ["await echoes", "drain because of SIGTERM"], [], [], []]
        )
    }

    @Test("every end has an exit code")
    func exitCodes() {
        let unreachable = CommandFailure(.unavailable, attempted: "a", cameBack: "b", whatToDo: "c")
        #expect(GroupExit.drained(.signal(.terminate)).exitCode == .done)
        #expect(GroupExit.timedOut(services: ["a"]).exitCode == .tryAgain)
        #expect(GroupExit.returnedEarly(service: "a").exitCode == .bug)
        #expect(GroupExit.failed(service: "a", Failure()).exitCode == .bug)
        #expect(GroupExit.failed(service: "a", unreachable).exitCode == .unavailable)
    }
}
