package import BellhopJSON
package import ServiceRuntime
import Settings

/// The publishers with a valid token now, as their file lists them.
package final class PublisherDirectory: Sendable {
    private let document: WatchedDocument<PublisherFile>

    /// Reads the file.
    ///
    /// Throws if it is invalid at the start.
    package init(file: String, time: any TimeSource, logger: Logger) throws(DocumentFaults) {
        let form = WatchedDocument<PublisherFile>.Form(
            name: "publishers",
            atMost: PublisherFile.longestFile,
            read: { PublisherFile.read($0, file: file) },
            readFile: { PublisherFile.read(file: file) },
            count: \.accounts.count
        )
        document = try WatchedDocument(file: file, form: form, time: time, logger: logger)
    }

    package var current: PublisherFile { document.current }
}
