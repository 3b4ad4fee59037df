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
