import Foundation
import Testing

@testable import ServiceRuntime

@Suite("A file written in one operation")
struct OutputFileTests {
    /// Passes the path of a file in a temporary folder, which is removed after `body`.
    private func withFile(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-out-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appendingPathComponent("file").path)
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private func neighbours(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path)
    }

    @Test(
        "a file has every byte and exactly its permissions, and no temporary file remains",
        arguments: [OutputFile.ExistingFilePolicy.replaced, .kept]
    )
    func whole(_ predecessor: OutputFile.ExistingFilePolicy) throws {
        try withFile { path in
            let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }
            try OutputFile.write(bytes, to: path, mode: 0o600, predecessor: predecessor)
            #expect(FileManager.default.contents(atPath: path) == Data(bytes))
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
            #expect(try neighbours(path) == ["file"])
        }
    }

    @Test("an existing file is replaced on request, and takes the new permissions")
    func replaced() throws {
        try withFile { path in
            try OutputFile.write(Array("a longer text".utf8), to: path, mode: 0o644, predecessor: .replaced)
            try OutputFile.write(Array("new".utf8), to: path, mode: 0o600, predecessor: .replaced)
            #expect(try text(path) == "new")
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
            #expect(try neighbours(path) == ["file"])
        }
    }

    @Test("an existing file is kept on request, and so is a link with any target")
    func kept() throws {
        try withFile { path in
            try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
            let link = path + ".link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path + ".other")
            for taken in [path, link] {
                #expect(throws: OutputFile.Failure(reason: "the file already exists")) {
                    try OutputFile.write([1], to: taken, mode: 0o600, predecessor: .kept)
                }
            }
            #expect(try text(path) == "mine")
            #expect(try neighbours(path).sorted() == ["file", "file.link"])
        }
    }

    @Test("a planted link under a guessed name is not written through and does not interfere")
    func planted() throws {
        try withFile { path in
            let target = path + ".target"
            try Data("mine".utf8).write(to: URL(fileURLWithPath: target))
            let guess = "\(path).\(getpid()).new"
            try FileManager.default.createSymbolicLink(atPath: guess, withDestinationPath: target)
            try OutputFile.write(Array("new".utf8), to: path, mode: 0o600, predecessor: .replaced)
            #expect(try text(path) == "new")
            #expect(try text(target) == "mine")
        }
    }

    @Test("a new file is private to its owner from the start, and replaces no other file")
    func newFile() throws {
        try withFile { path in
            let target = path + ".target"
            try FileManager.default.createSymbolicLink(atPath: path + ".link", withDestinationPath: target)
            #expect(throws: OutputFile.Failure(reason: "the file already exists")) { try NewFile(path: path + ".link") }
            #expect(!FileManager.default.fileExists(atPath: target))
            let file = try NewFile(path: path + ".part")
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try file.write(Array("new".utf8))
            try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
            #expect(throws: OutputFile.Failure(reason: "the file already exists")) {
                try file.rename(to: path, predecessor: .kept)
            }
            #expect(try text(path) == "mine")
            try FileManager.default.removeItem(atPath: path)
            try file.rename(to: path, predecessor: .kept)
            #expect(try text(path) == "new")
        }
    }

    @Test("a failed write leaves no file and gives the reason")
    func unwritable() throws {
        try withFile { path in
            for predecessor in [OutputFile.ExistingFilePolicy.replaced, .kept] {
                #expect(throws: OutputFile.Failure(reason: "No such file or directory")) {
                    try OutputFile.write([1], to: path + "/none/file", mode: 0o600, predecessor: predecessor)
                }
            }
            // A file never replaces a folder.
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            #expect(throws: OutputFile.Failure(reason: "Is a directory")) {
                try OutputFile.write([1], to: path, mode: 0o600, predecessor: .replaced)
            }
            #expect(try neighbours(path) == ["file"])
        }
    }
}
