import Foundation

/// Whether this run is one with a sanitizer, which is several times slower and keeps what is freed.
package enum Sanitizer {
    package static let isOn = ProcessInfo.processInfo.environment["BELLHOP_SANITIZE"] != nil
}
