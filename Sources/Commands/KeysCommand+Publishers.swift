import API
import BellhopJSON
import BellhopRules
import CLI
import Foundation
import ServiceRuntime

/// The tokens of publishers: `bellhop keys publisher`.
extension KeysCommand {
    /// Creates a publisher's token and prints it once, with the entry for the file.
    ///
    /// With `--set`, the entry is also written to the file, in place of an earlier one with the same name.
    static func makePublisher(_ call: Call) throws -> ExitCode {
        let name = try publisherName(call)
        let app = try call.words.required("app", AppID.rule, AppID.init(validating:))
        let types = try call.words.optional("types", "types separated by commas, each \(EventType.rule)", types)
        let (account, token) = try PublisherAccount.registered(as: name, app: app, types: types)
        let entry = String(decoding: JSONWriter.canonicalBytes(of: account.entry), as: UTF8.self)
        var lines = ["token of \(name), \(app), shown this once: \(token)", "entry: \(entry)"]
        if let path = try call.words.optional("set", "the path of a file", { $0.isEmpty ? nil : $0 }) {
            let isThere = FileManager.default.fileExists(atPath: path)
            let known = isThere ? try PublisherFile.read(file: path).get() : PublisherFile()
            try write(known.having(account), to: path)
            lines.append("file: \(path), for BELLHOP_PUBLISHERS")
        }
        call.answer(
            .members([
                ("name", .string(name)), ("app", .string(app.text)), ("token", .string(token)),
                ("entry", account.entry),
            ]),
            lines.joined(separator: "\n")
        )
        return .done
    }

    /// Lists the publishers of a file, without their tokens, which the file does not contain.
    static func listPublishers(_ call: Call) throws -> ExitCode {
        let file = try PublisherFile.read(file: try publisherPath(call)).get()
        let lines = file.accounts.map { account in
            let types = account.types.map { $0.map(\.text).joined(separator: ", ") } ?? "all event types"
            return "\(account.name)  \(account.app)  \(types)"
        }
        call.answer(
            .members([("publishers", .array(file.accounts.map(\.withoutHash)))]),
            lines: lines.isEmpty ? ["no publishers"] : lines
        )
        return .done
    }

    /// Removes a publisher from a file, so that its token is no longer valid.
    static func revokePublisher(_ call: Call) throws -> ExitCode {
        let (name, path) = (try publisherName(call), try publisherPath(call))
        guard let rest = try PublisherFile.read(file: path).get().removing(name) else {
            throw CommandFailure(
                .answerIsNo,
                attempted: "revoking the token of \(name)",
                cameBack: "\(path) has no publisher of this name",
                whatToDo: "see bellhop keys publisher list --set \(path)"
            )
        }
        try write(rest, to: path)
        call.answer(
            .members([("revoked", .string(name))]),
            "revoked the token of \(name); running processes reject it within 5 seconds"
        )
        return .done
    }

    private static func publisherName(_ call: Call) throws -> String {
        try call.words.required("name", PublisherAccount.nameRule) { PublisherAccount.isName($0) ? $0 : nil }
    }

    private static func publisherPath(_ call: Call) throws -> String {
        try call.words.required("set", "the path of a file") { $0.isEmpty ? nil : $0 }
    }

    private static func types(_ text: String) -> [EventType]? {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let types = names.compactMap(EventType.init(validating:))
        return types.count == names.count && Set(types).count == names.count ? types : nil
    }

    private static func write(_ file: PublisherFile, to path: String) throws {
        try write(file.text, to: path, mode: 0o644, over: .replaced)
    }
}

extension PublisherAccount {
    /// The entry without the hash of the token.
    fileprivate var withoutHash: JSONValue {
        .object(JSONObject((entry.object?.members ?? []).filter { $0.key != "hash" }.map { ($0.key, $0.value) }))
    }
}
