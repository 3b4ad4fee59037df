import Foundation

/// The program of a child process.
package struct ChildProgram: Sendable {
    /// The file to execute.
    package var path: String
    /// The arguments without the program's name.
    package var arguments: [String]
    package var environment: [String: String]

    package init(path: String, arguments: [String], environment: [String: String]) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
    }

    /// Returns the file of the running program.
    ///
    /// This is the program's path while it names the same file, so that process lists show its name. After the file was
    /// replaced or deleted, it is the kernel's link to the running file.
    package static func own() -> String {
        let link = "/proc/self/exe"
        guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return link }
        var (running, found) = (stat(), stat())
        guard stat(link, &running) == 0, stat(path, &found) == 0 else { return link }
        return running.st_dev == found.st_dev && running.st_ino == found.st_ino ? path : link
    }
}
