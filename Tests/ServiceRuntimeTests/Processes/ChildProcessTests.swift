import Foundation
import ServiceRuntime
import TestSupport
import Testing

@Suite("Child processes", .limitedConcurrency, .timeLimit(.ofTest))
struct ChildProcessTests {
    private func shell(_ script: String, _ lifeline: ParentExitMonitor) throws -> ChildProcess {
        let program = ChildProgram(path: "/bin/sh", arguments: ["-c", script], environment: ["CODE": "7"])
        return try ChildProcess(program, lifeline: lifeline)
    }

    @Test("an exit code and the environment are passed")
    func exitCode() async throws {
        let child = try shell("exit $CODE", ParentExitMonitor())
        #expect(await child.ending() == .exited(7))
        // Repeated when its number may already belong to another process.
        child.kill()
        #expect(await child.ending() == .exited(7))
    }

    @Test("a child ends on SIGTERM and on SIGKILL")
    func signals() async throws {
        let lifeline = try ParentExitMonitor()
        let asked = try shell("exec sleep 600", lifeline)
        asked.terminate()
        #expect(await asked.ending() == .killed(signal: SIGTERM))
        let killed = try shell("trap '' TERM; exec sleep 600", lifeline)
        killed.kill()
        #expect(await killed.ending() == .killed(signal: SIGKILL))
    }

    @Test("a child leads a separate process group")
    func group() async throws {
        let child = try shell("exec sleep 600", ParentExitMonitor())
        #expect(getpgid(child.id) == child.id)
        child.kill()
        _ = await child.ending()
    }

    @Test("children read the end of stdin when the lifeline is closed, and not before")
    func lifeline() async throws {
        let children = try startTwo()
        for child in children { #expect(await child.ending() == .exited(3)) }
    }

    /// Starts two children; their lifeline ends with this function.
    private func startTwo() throws -> [ChildProcess] {
        let lifeline = try ParentExitMonitor()
        let children = try (0..<2).map { _ in try shell("read line; exit 3", lifeline) }
        withExtendedLifetime(lifeline) {
            for child in children { #expect(kill(child.id, 0) == 0) }
        }
        return children
    }

    @Test("a missing program is an error, not a child")
    func absent() throws {
        let program = ChildProgram(path: "/nonexistent/program", arguments: [], environment: [:])
        #expect {
            try ChildProcess(program, lifeline: ParentExitMonitor())
        } throws: { error in
            (error as? CommandFailure)?.cameBack == "No such file or directory"
        }
    }

    @Test("the program's file exists")
    func own() {
        #expect(FileManager.default.isExecutableFile(atPath: ChildProgram.own()))
        #expect(ChildProgram.own() != "/proc/self/exe")
    }

    @Test(
        "an ending is described in a text",
        arguments: [
            (.exited(0), "it was asked to end, and drained"),
            (.exited(78), "it ended with exit code 78 (its configuration is wrong)"),
            (.exited(3), "it ended with exit code 3"),
            (.killed(signal: 11), "it was killed by SIGSEGV"),
            (.killed(signal: 9), "it was killed by SIGKILL, by hand or for want of memory"),
            (.killed(signal: 40), "it was killed by signal 40"),
        ] as [(ChildExit, String)]
    )
    func words(ending: ChildExit, words: String) {
        #expect("\(ending)" == words)
    }
}

@Suite("Pulse of a child process", .limitedConcurrency, .timeLimit(.ofTest))
struct ProcessPulseTests {
    @Test("a child's beat is heard once, also by a child that was started with other pulses open")
    func beats() async throws {
        let (pulse, other) = (try ProcessPulse(), try ProcessPulse())
        #expect(!pulse.hasBeaten())
        let program = ChildProgram(path: "/bin/sh", arguments: ["-c", "printf x >&3"], environment: [:])
        let child = try ChildProcess(program, lifeline: ParentExitMonitor(), pulse: pulse)
        #expect(await child.ending() == .exited(0))
        #expect(pulse.hasBeaten())
        #expect(!pulse.hasBeaten(), "each beat counts once")
        #expect(!other.hasBeaten())
    }

    @Test("what a supervisor tells its child is read as it was written, and other values are ignored")
    func start() {
        var start = SupervisedStart()
        start.hung = 2
        start.noteEnd(of: 77, by: .killed(signal: 9), isHung: true)
        start.noteStart(at: 1_767_225_600)
        let own = getpid()
        #expect(SupervisedStart([SupervisedStart.variable: start.text], parent: own) == start)
        let first = SupervisedStart()
        #expect(SupervisedStart([SupervisedStart.variable: first.text], parent: own) == first)
        #expect(SupervisedStart([SupervisedStart.variable: start.text]) == nil, "it is of another supervisor")
        #expect(SupervisedStart([:]) == nil)
        #expect(SupervisedStart([SupervisedStart.variable: "1,2"], parent: 1) == nil)
    }

    @Test("a child replaces a hung one from its own start on, and the child after it does not")
    func replacement() {
        var start = SupervisedStart()
        start.noteStart(at: 50)
        #expect(start.hungUntil == nil && start.predecessors.isEmpty)
        start.noteEnd(of: 77, by: .killed(signal: 9), isHung: true)
        start.noteStart(at: 100)
        #expect(start.hungUntil == 100 && start.predecessors == [77])
        start.noteStart(at: 130)
        #expect(start.hungUntil == 130, "the start at 100 failed")
        start.noteEnd(of: 78, by: .exited(78), isHung: false)
        start.noteStart(at: 160)
        #expect(start.hungUntil == 160 && start.predecessors == [77], "78 could not start")
        start.noteEnd(of: 79, by: .exited(0), isHung: false)
        start.noteStart(at: 200)
        #expect(start.hungUntil == nil && start.predecessors == [79, 77])
        start.noteEnd(of: 80, by: .killed(signal: 9), isHung: false)
        #expect(start.hungUntil == nil && start.predecessors == [80, 79, 77])
        for id in 100..<120 { start.noteEnd(of: Int32(id), by: .killed(signal: 9), isHung: false) }
        #expect(start.predecessors.count == SupervisedStart.most && start.predecessors.first == 119)
        #expect(SupervisedStart([SupervisedStart.variable: start.text], parent: getpid()) == start)
    }
}
