import Foundation

/// Whether this run is one with a sanitizer, which is several times slower and keeps what is freed.
package enum Sanitizer {
    package static let isOn = environment["BELLHOP_SANITIZE"] != nil

    /// How it is to be, which has to reach every program of ours that a test starts: one that was not told ends with a code
    /// of the sanitizer's, and says why where nobody looks.
    package static let settings = environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }

    private static let environment = ProcessInfo.processInfo.environment
}
