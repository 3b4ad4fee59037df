package import BellhopRules
import Cryptography

/// A hash of an event's content, in 16 bytes.
///
/// The same event id with a different hash is an `id-conflict`.
package struct ContentHash: Sendable, Hashable {
    package let bytes: [UInt8]

    package init(of event: Event) {
        var content: [UInt8] = []
        content.reserveCapacity(512)
        event.contentBytes(into: &content)
        bytes = SHA256.digest(of: content).prefix(16)
    }

    /// Creates a hash from its stored bytes.
    init(stored bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension SubmissionParser {
    /// Returns a parser as all processes use it.
    ///
    /// It assigns ids to events that may omit them.
    package static func hashing(_ catalogs: CatalogSet) -> SubmissionParser {
        SubmissionParser(catalogs) { SHA256.digest(of: $0).bytes }
    }
}
