import Foundation
import ServiceRuntime

/// What somebody has written in an editor, kept until it is on its way: nobody shall write it twice.
///
/// It may hold personal data, so that only its writer can read it.
struct EditedDraft: Sendable {
    let path: String

    /// Writes it down; nil where it cannot be written.
    static func keep(_ text: [UInt8], of item: String) -> EditedDraft? {
        let folder = FileManager.default.temporaryDirectory
        let beginning = String(item.prefix(12).filter { $0.isLetter || $0.isNumber })
        let file = folder.appendingPathComponent("bellhop-edit-\(beginning)-\(UUID().uuidString).json")
        let isWritten = FileManager.default.createFile(
            atPath: file.path,
            contents: Data(text),
            attributes: [.posixPermissions: 0o600]
        )
        return isWritten ? EditedDraft(path: file.path) : nil
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    var words: String { "Your text is in \(path): hand it in with --file \(path)." }

    /// The same failure, with where the text is.
    func telling(_ failure: CommandFailure) -> CommandFailure {
        CommandFailure(
            failure.exitCode,
            attempted: failure.attempted,
            cameBack: failure.cameBack,
            whatToDo: "\(failure.whatToDo); your text is in \(path), for --file"
        )
    }
}
