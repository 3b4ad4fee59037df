import Foundation
import ServiceRuntime

/// A text that an operator has written in an editor, kept until it is sent, so that it need not be written twice.
///
/// It may contain personal data, so only its author can read the file.
struct EditedDraft: Sendable {
    let path: String

    /// Writes the draft to a file, or returns `nil` if that fails.
    static func keep(_ text: [UInt8], of item: String) -> EditedDraft? {
        let folder = FileManager.default.temporaryDirectory
        let beginning = String(item.prefix(12).filter { $0.isLetter || $0.isNumber })
        let file = folder.appendingPathComponent("bellhop-edit-\(beginning)-\(UUID().uuidString).json")
        do throws(OutputFile.Failure) {
            try NewFile(path: file.path).write(text)
            return EditedDraft(path: file.path)
        } catch {
            return nil
        }
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }

    var words: String { "Your text is in \(path): hand it in with --file \(path)." }

    /// Returns the same failure with the path of the draft.
    func telling(_ failure: CommandFailure) -> CommandFailure {
        CommandFailure(
            failure.exitCode,
            attempted: failure.attempted,
            cameBack: failure.cameBack,
            whatToDo: "\(failure.whatToDo); your text is in \(path), for --file"
        )
    }
}
