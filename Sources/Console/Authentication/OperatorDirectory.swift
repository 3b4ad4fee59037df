package import BellhopJSON
package import ServiceRuntime
import Settings

/// The operators who may sign in now, as their file lists them.
package final class OperatorDirectory: Sendable {
    private let document: WatchedDocument<OperatorFile>

    /// Reads the file.
    ///
    /// Throws if it is invalid at the start.
    package init(file: String, time: any TimeSource, logger: Logger) throws(DocumentFaults) {
        let form = WatchedDocument<OperatorFile>.Form(
            name: "operators",
            atMost: OperatorFile.longestFile,
            read: { OperatorFile.read($0, file: file) },
            readFile: { OperatorFile.read(file: file) },
            count: \.operators.count
        )
        document = try WatchedDocument(file: file, form: form, time: time, logger: logger)
    }

    package var current: OperatorFile { document.current }
}
