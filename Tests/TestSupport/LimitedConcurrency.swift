import Foundation
#if compiler(>=6.1)
package import Testing
#else
@_spi(Experimental) package import Testing
#endif

/// Limits the number of tests that run at the same time; nothing else limits it.
///
/// * Pure tests run without a limit, as many as Swift Testing starts. They keep the processors busy and wait for
///   nothing.
/// * Tests that wait for a server, a peer or a process have `.limitedConcurrency`: six per processor run at a time, and
///   the others wait. Hundreds at the same time would take every connection of the database and delay one another.
/// * Proofs have `.limitedProofConcurrency`: they start programs that use whole processors, and end servers. Two run at
///   a time, together with tests of the other kinds, because they wait for most of their time. At full size, with a
///   sanitizer and beside busy processes one runs at a time.
///
/// The wait for a turn does not count against a test's `.timeLimit`.
package struct LimitedConcurrency: TestTrait, SuiteTrait {
    package var isRecursive: Bool { true }

    private let line: WaitQueue

    @TaskLocal private static var hasTurn = false
    fileprivate static let servers = WaitQueue(width: width)
    fileprivate static let proofs = WaitQueue(width: Sanitizer.isOn || LongestWait.isFullSize || isBusy ? 1 : 2)
    /// `deploy/test --busy` sets this variable.
    private static let isBusy = ProcessInfo.processInfo.environment["BELLHOP_PROOFS_AT_A_TIME"] == "1"

    fileprivate init(_ line: WaitQueue) {
        self.line = line
    }

    /// The number of concurrent tests; a sanitizer makes each test several times slower.
    private static var width: Int {
        Sanitizer.isOn ? 3 : 6 * ProcessInfo.processInfo.activeProcessorCount
    }

    /// Takes a turn for a test with all its cases, because the time limit of a case runs before the case begins.
    private func take(_ test: Test, _ testCase: Test.Case?, _ function: () async throws -> Void) async throws {
        // A suite's trait applies to its tests, and a test in nested suites has it several times.
        guard !test.isSuite, testCase == nil, !Self.hasTurn else { return try await function() }
        TestTimes.start()
        await line.enter()
        let start = ContinuousClock.now
        let result: Result<Void, any Error>
        do { result = .success(try await Self.$hasTurn.withValue(true) { try await function() }) } catch {
            result = .failure(error)
        }
        TestTimes.note(test, from: start)
        await line.leave()
        try result.get()
    }
}

#if compiler(>=6.1)
extension LimitedConcurrency: TestScoping {
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> LimitedConcurrency? {
        test.isSuite || testCase != nil ? nil : self
    }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await take(test, testCase, function)
    }
}
#else
/// The predecessor of `TestScoping`, which exists since Swift 6.1.
@_spi(Experimental)
extension LimitedConcurrency: CustomExecutionTrait {
    @Sendable
    package func execute(
        _ function: @escaping @Sendable () async throws -> Void,
        for test: Test,
        testCase: Test.Case?
    ) async throws {
        try await take(test, testCase, function)
    }
}
#endif

extension Trait where Self == LimitedConcurrency {
    /// For tests that wait for a server, a peer or a process; see ``LimitedConcurrency``.
    package static var limitedConcurrency: LimitedConcurrency { LimitedConcurrency(LimitedConcurrency.servers) }
    /// For proofs; see ``LimitedConcurrency``.
    package static var limitedProofConcurrency: LimitedConcurrency { LimitedConcurrency(LimitedConcurrency.proofs) }
}

/// A fixed number of places with a queue of waiting tests: first come, first served.
private actor WaitQueue {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(width: Int) {
        free = width
    }

    func enter() async {
        guard free == 0 else {
            free -= 1
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        guard waiting.isEmpty else { return waiting.removeFirst().resume() }
        free += 1
    }
}
