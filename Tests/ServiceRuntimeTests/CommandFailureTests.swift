import ServiceRuntime
import Testing

@Suite("Command failures")
struct CommandFailureTests {
    @Test("a failure is one line with the attempt, the result and the remedy")
    func line() {
        let failure = CommandFailure(
            .unavailable,
            attempted: "connecting to the broker at 127.0.0.1:5672",
            cameBack: "connection refused\nforged: line",
            whatToDo: "start it, or correct BELLHOP_AMQP_URL"
        )
        #expect(
            "\(failure)" == "connecting to the broker at 127.0.0.1:5672: connection refused\\nforged: line; "
                + "start it, or correct BELLHOP_AMQP_URL"
        )
    }

    @Test("a result that ends with a full stop is continued without it")
    func stop() {
        let failure = CommandFailure(.bug, attempted: "a", cameBack: "It did not happen.", whatToDo: "look again")
        #expect("\(failure)" == "a: It did not happen; look again")
    }

    @Test("the exit codes are the documented ones")
    func codes() {
        #expect(ExitCode.allCases.map(\.rawValue) == [0, 1, 64, 65, 69, 70, 75, 78])
    }
}
