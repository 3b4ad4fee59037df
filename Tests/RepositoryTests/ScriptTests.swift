import Foundation
import TestSupport
import Testing

@Suite("Shared functions of the scripts in deploy/")
struct ScriptTests {
    @Test("a script that outlives its reader continues without it, and its servers keep the default SIGPIPE handling")
    func lostReader() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("script"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let words = """
            set -euo pipefail
            . "$0/base.sh"
            . "$0/processes.sh"
            outlive_reader
            say one word
            say another word
            data=$1
            mkdir -p "$data/run" "$data/log"
            launch server bash -c 'trap -p PIPE; printf "%s\\n" "$(trap)"; exec sleep 0'
            : >"$1/ended"
            """
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let process = Process()
        // A shell cannot restore a signal that its parent ignores, and this process may ignore SIGPIPE.
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "--default-signal=PIPE", "/bin/bash", "-c", words, Checkout.file("deploy/lib").path, folder.path,
        ]
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        let status = try await withCheckedThrowingContinuation { answer in
            process.terminationHandler = { answer.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { answer.resume(throwing: error) }
        }
        #expect(status == 0)
        #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("ended").path))
        let log = try String(contentsOf: folder.appendingPathComponent("log/server.log"), encoding: .utf8)
        #expect(!log.contains("PIPE"), "\(log)")
    }

    @Test("the app to try is one of the caller's own catalogues, with the first type of its file")
    func ownApp() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(Servers.uniqueName("catalogs"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let words = """
            set -euo pipefail
            checkout=$0
            BELLHOP_CATALOGS=$1
            . "$0/deploy/lib/samples.sh"
            app=$(own_app)
            printf '%s %s' "$app" "$(type_of "$app")"
            """
        let run = { () throws -> String in
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/bash")
            process.arguments = ["-c", words, Checkout.file(".").path, folder.path]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            let text = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return String(decoding: text, as: UTF8.self)
        }
        #expect(try run() == "APP TYPE")
        let shipped = try Data(contentsOf: Checkout.file("deploy/catalogs/drop.json5"))
        try shipped.write(to: folder.appendingPathComponent("drop.json5"))
        #expect(try run() == "drop transaction_complete")
        let own = """
            {
              app: "zeta", // types: { no: {} }
              from: { service: { types: { wrong: {} } } },
              "types": {
                // The first one.
                'order.ready': { templates: { en: { title: "Order {number}" } } },
                second: {},
              },
            }
            """
        try Data(own.utf8).write(to: folder.appendingPathComponent("zeta.json5"))
        #expect(try run() == "zeta order.ready")
    }
}
