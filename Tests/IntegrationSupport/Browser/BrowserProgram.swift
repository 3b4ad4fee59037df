import Foundation
import ServiceRuntime
import TestSupport

/// Chromium without a window, behind chromedriver.
///
/// All tests of a run share one, which they use in turn.
package actor BrowserProgram {
    package static let shared = BrowserProgram()

    /// Whether this machine has the programs that the tests need; `deploy/test` installs them.
    package static let isThere = [chromedriver, chromium].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    private static let chromedriver = "/usr/bin/chromedriver"
    private static let chromium = "/usr/bin/chromium"

    /// Ends the programs when the test process ends for any reason, because its end of the pipe is then closed.
    private var lifeline: ParentExitMonitor?
    private var session: Result<WebDriver, any Error>?

    /// Whether a test uses the browser.
    private var isTaken = false
    private var line: [CheckedContinuation<Void, Never>] = []

    /// Runs a body with exclusive use of the browser, because suites of several targets may need it at the same time.
    package nonisolated func withDriver(_ body: (WebDriver) async throws -> Void) async throws {
        await enter()
        let result: Result<Void, any Error>
        do { result = .success(try await body(try await driver())) } catch { result = .failure(error) }
        await leave()
        try result.get()
    }

    private func enter() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { line.append($0) }
    }

    /// Passes the browser to the test that has waited longest.
    private func leave() {
        guard !line.isEmpty else {
            isTaken = false
            return
        }
        line.removeFirst().resume()
    }

    /// Returns the browser, which starts with the first call; a failed start is not repeated.
    private func driver() async throws -> WebDriver {
        if let session { return try session.get() }
        let result: Result<WebDriver, any Error>
        do { result = .success(try await WebDriver.begin(at: start(), binary: Self.chromium)) } catch {
            result = .failure(error)
        }
        session = result
        return try result.get()
    }

    /// Starts chromedriver on a port that it chooses, and again if another program uses that port.
    ///
    /// It selects any free port of IPv6, and ends if another program's connection has the same port of IPv4.
    private func start() async throws -> UInt16 {
        for _ in 1...5 {
            if let port = try await launch() { return port }
        }
        throw BrowserFailure("chromedriver found no port that is free, five times")
    }

    /// Starts chromedriver, whose first lines report that it listens, or that its port was taken; the result is `nil`
    /// in the second case.
    private func launch() async throws -> UInt16? {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("browser"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let log = folder.appendingPathComponent("log").path
        // The shell outlives the tests until it has ended the programs and removed their files.
        let script = """
            exec 2>/dev/null
            "$0" --port=0 >"$1/log" & driver=$!
            cat >/dev/null
            kill $driver; wait $driver
            for pause in 0.2 1 5; do rm -rf "$1" && break; sleep $pause; done
            """
        let inherited = ProcessInfo.processInfo.environment
        var environment = inherited.filter { ["PATH", "HOME", "LANG"].contains($0.key) }
        environment["TMPDIR"] = folder.path
        // The device of a user in Norway.
        environment["TZ"] = "Europe/Oslo"
        let lifeline = try ParentExitMonitor()
        _ = try ChildProcess(
            ChildProgram(
                path: "/bin/sh",
                arguments: ["-c", script, Self.chromedriver, folder.path],
                environment: environment
            ),
            lifeline: lifeline
        )
        self.lifeline = lifeline
        var words = ""
        try await eventually("chromedriver reports its port") {
            words = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            return words.contains(/started successfully on port [0-9]+\.|port not available/)
        }
        return words.firstMatch(of: /started successfully on port ([0-9]+)/).flatMap { UInt16($0.1) }
    }
}

/// The browser's reason for rejecting a command.
package struct BrowserFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
