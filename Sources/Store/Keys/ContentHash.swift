package import BellhopRules
import Cryptography

/// What an event says, in 16 bytes: the same id with another hash is an `id-conflict`.
package struct ContentHash: Sendable, Hashable {
    package let bytes: [UInt8]

    package init(of event: Event) {
        var content: [UInt8] = []
        content.reserveCapacity(512)
        event.contentBytes(into: &content)
        bytes = SHA256.digest(of: content).prefix(16)
    }

    /// As it was stored.
    init(stored bytes: [UInt8]) {
        self.bytes = bytes
    }
}

extension SubmissionParser {
    /// The parser of all that runs here: it gives ids to events that may come without.
    package static func hashing(_ catalogs: CatalogSet) -> SubmissionParser {
        SubmissionParser(catalogs) { SHA256.digest(of: $0).bytes }
    }
}
