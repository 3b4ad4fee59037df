import Foundation
#if compiler(>=6.1)
package import Testing
#else
@_spi(Experimental) package import Testing
#endif

/// Lets at most a dozen tests run at a time, of all that have it; the others wait in line.
///
/// Two cores carry a dozen tests with real servers and peers. Hundreds at once would take every connection the
/// database has, and measure each other's delays. Newer releases of Swift Testing bound their tests themselves, Debian
/// 13's does not, so the tests hold the bound. Waiting in line is no part of a test's `.timeLimit`.
///
/// For suites whose tests wait for a server, a peer or a process. A suite that is pure keeps two cores busy and nobody
/// waiting, and does without.
package struct InTurn: TestTrait, SuiteTrait {
    package var isRecursive: Bool { true }

    @TaskLocal private static var hasTurn = false
    private static let line = Line(width: width)

    /// Under a sanitizer each is several times slower, and where nothing bounds the others all of these run beside.
    private static var width: Int {
        guard !Sanitizer.isOn else { return 3 }
        #if compiler(>=6.1)
        return 12
        #else
        return 6
        #endif
    }

    /// The turn is a test's, with all its cases: before a single case begins, its time limit runs already.
    private func take(_ test: Test, _ testCase: Test.Case?, _ function: () async throws -> Void) async throws {
        // A suite's trait reaches its tests, and a test in nested suites has it more than once.
        guard !test.isSuite, testCase == nil, !Self.hasTurn else { return try await function() }
        await Self.line.enter()
        let result: Result<Void, any Error>
        do { result = .success(try await Self.$hasTurn.withValue(true) { try await function() }) } catch {
            result = .failure(error)
        }
        await Self.line.leave()
        try result.get()
    }
}

#if compiler(>=6.1)
extension InTurn: TestScoping {
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> InTurn? {
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
/// What became `TestScoping` with Swift 6.1.
@_spi(Experimental)
extension InTurn: CustomExecutionTrait {
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

extension Trait where Self == InTurn {
    /// See ``InTurn``.
    package static var inTurn: InTurn { InTurn() }
}

/// Some places, and who waits for one, first come, first served.
private actor Line {
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
