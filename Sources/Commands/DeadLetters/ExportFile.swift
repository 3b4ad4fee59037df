import Foundation
import ServiceRuntime

/// The destination of an export: a new file that only its owner can read, or stdout.
///
/// The file gets its name when it is complete. Until then its name ends with `.part`.
struct ExportFile {
    private enum Place {
        case file(NewFile, name: String)
        case output(PrintedOutput)
    }

    private let place: Place

    /// Opens the destination.
    ///
    /// Without a path it is `output`.
    init(path: String?, else output: PrintedOutput) throws(CommandFailure) {
        guard let path else {
            place = .output(output)
            return
        }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw Self.failure(path, "the file is there already", "name another one")
        }
        do throws(OutputFile.Failure) {
            place = .file(try NewFile(path: path + ".part"), name: path)
        } catch {
            let advice = "name a folder that is there and may be written to, without \(path).part in it"
            throw Self.failure(path + ".part", "\(error.reason)", advice)
        }
    }

    /// Whether the output is still read.
    ///
    /// A printed export is useless without a reader.
    var isWanted: Bool {
        if case .output(let output) = place { output.isOpen } else { true }
    }

    /// Writes lines, and returns after they are on disk.
    func write(_ lines: [String]) throws(CommandFailure) {
        switch place {
        case .output(let output):
            for line in lines { output.print(line: line) }
        case .file(let file, let name):
            do throws(OutputFile.Failure) {
                try file.write(Array((lines.joined(separator: "\n") + "\n").utf8))
                try file.synchronize()
            } catch {
                throw Self.failure(name, error.reason, "make room; \(file.path) has what fitted")
            }
        }
    }

    /// Gives the file its final name.
    func close() throws(CommandFailure) {
        guard case .file(let file, let name) = place else { return }
        do throws(OutputFile.Failure) {
            try file.rename(to: name, predecessor: .kept)
        } catch {
            throw Self.failure(name, error.reason, "\(file.path) has everything")
        }
    }

    private static func failure(_ path: String, _ cameBack: String, _ whatToDo: String) -> CommandFailure {
        CommandFailure(.badInput, attempted: "exporting to \(path)", cameBack: cameBack, whatToDo: whatToDo)
    }
}
