import Foundation

/// The real servers of a test run, and names that no other test uses.
package enum Servers {
    /// The broker of this run (`BELLHOP_AMQP_URL`); suites that need it are disabled without it.
    package static var amqpURL: String? { setting("BELLHOP_AMQP_URL") }

    /// The database of this run (`BELLHOP_DATABASE_URL`); suites that need it are disabled without it.
    package static var databaseURL: String? { setting("BELLHOP_DATABASE_URL") }

    /// Whether a test may start private servers, which the tier without servers does not allow
    /// (`BELLHOP_TESTS_WITHOUT_SERVERS`).
    package static var mayBeStarted: Bool { setting("BELLHOP_TESTS_WITHOUT_SERVERS") == nil }

    /// Returns `prefix` and a suffix that differs between tests, runs and machines; lower case, valid for a queue or a
    /// schema.
    package static func uniqueName(_ prefix: String) -> String {
        let suffix = UInt64.random(in: 0...UInt64.max)
        return prefix + "_" + String(suffix, radix: 36)
    }

    private static func setting(_ name: String) -> String? {
        let value = ProcessInfo.processInfo.environment[name]
        return value == "" ? nil : value
    }
}
