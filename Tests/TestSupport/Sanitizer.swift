import Foundation

/// Whether this run uses a sanitizer, which is several times slower and keeps freed memory.
package enum Sanitizer {
    package static let isOn = environment["BELLHOP_SANITIZE"] != nil

    /// The sanitizer's settings, which every Bellhop program that a test starts must receive.
    ///
    /// Without them, it ends with a code of the sanitizer and reports the reason where no test reads it.
    package static let settings = environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }

    private static let environment = ProcessInfo.processInfo.environment
}
