import API
import BellhopJSON
import BellhopRules
import CLI
import Console
import Cryptography
import Foundation
import Push
import ServiceRuntime

/// The command `bellhop keys`.
///
/// It creates key pairs for browser push services and for tokens of the inbox API, and tokens for the console and for
/// publishers.
enum KeysCommand: Command {
    static let name = "keys"
    static let summary =
        "Generates VAPID keys, API signing keys, or a token of an operator or publisher."
    static let synopsis = [
        "keys vapid [--out FILE] [--json]", "keys tokens --out FILE --set FILE",
        "keys operator --name NAME [--role viewer|operator] --set FILE [--json]",
        "keys publisher --name NAME --app APP [--types TYPE,TYPE] [--set FILE] [--json]",
        "keys publisher list --set FILE [--json]", "keys publisher revoke --name NAME --set FILE [--json]",
    ]
    static let options = [
        Option.taking("out", "FILE", "write the private key there, for its owner alone; never over another file"),
        Option.taking(
            "set",
            "FILE",
            "tokens: the key set of BELLHOP_JWT_KEYS, to which the key is added, or a new one; "
                + "operator: the file of BELLHOP_OPERATORS, in which they get a line, or a new one; "
                + "publisher: the same for the file of BELLHOP_PUBLISHERS"
        ),
        Option.taking("name", "NAME", "operator, publisher: name of the token's owner, for the audit and the log"),
        Option.taking("role", "viewer|operator", "operator: role: viewer or operator (default: operator)"),
        Option.taking("app", "APP", "publisher: the app whose events the token permits"),
        Option.taking(
            "types",
            "TYPE,TYPE",
            "publisher: permitted event types and feed messages (default: all event types, no feed messages)"
        ),
        Option.json,
    ]

    static func run(_ call: Call) async throws -> ExitCode {
        switch call.words.operands {
        case ["vapid"]: try makeVAPID(call)
        case ["tokens"]: try makeTokens(call)
        case ["operator"]: try makeOperator(call)
        case ["publisher"]: try makePublisher(call)
        case ["publisher", "list"]: try listPublishers(call)
        case ["publisher", "revoke"]: try revokePublisher(call)
        default: throw call.words.misuse("expected vapid, tokens, operator or publisher")
        }
    }

    /// Creates an operator's token and prints it once.
    ///
    /// The file stores only the token's hash.
    private static func makeOperator(_ call: Call) throws -> ExitCode {
        let name = try call.words.required("name", Operator.nameRule) { Operator.isName($0) ? $0 : nil }
        let asked = try call.words.optional("role", "viewer or operator", OperatorRole.init(rawValue:))
        let path = try call.words.required("set", "the path of a file") { $0.isEmpty ? nil : $0 }
        let known = FileManager.default.fileExists(atPath: path) ? try OperatorFile.read(file: path).get() : .init([])
        // A new token does not change the operator's role unless a role is given.
        let role = asked ?? known.operators.first { $0.name == name }?.role ?? .operator
        let (person, token) = try Operator.enlisted(as: name, role)
        try write(known.having(person).text, to: path, mode: 0o644, over: .replaced)
        call.answer(
            .members([("name", .string(name)), ("role", .string(role.rawValue)), ("token", .string(token))]),
            "token of \(name), \(role.rawValue), shown this once: \(token)\nfile: \(path), for BELLHOP_OPERATORS"
        )
        return .done
    }

    private static func makeTokens(_ call: Call) throws -> ExitCode {
        let isPath = { (text: String) in text.isEmpty ? nil : text }
        let file = try call.words.required("out", "the path of a file", isPath)
        let set = try call.words.required("set", "the path of a file", isPath)
        guard !namesSameFile(file, set) else {
            throw call.words.misuse("--out and --set name the same file, and the key set would replace the private key")
        }
        let key = try PrivateKey.generateP256()
        let issuer = try TokenIssuer(key: key)
        let others = try keys(of: set)
        try write(try key.pem(), to: file)
        try write(issuer.keySet(beside: others), to: set, mode: 0o644, over: .replaced)
        let beside = others.isEmpty ? "" : ", beside \(others.count.of("other"))"
        call.shell.print("private key: \(file)\nkey set: \(set), for BELLHOP_JWT_KEYS\(beside)\nname: \(issuer.keyID)")
        return .done
    }

    private static func namesSameFile(_ one: String, _ other: String) -> Bool {
        let paths = [one, other].map { URL(fileURLWithPath: $0).standardizedFileURL.resolvingSymlinksInPath().path }
        return paths[0] == paths[1]
    }

    /// Returns the keys of a set, unchanged, or none if the file does not exist.
    private static func keys(of path: String) throws(CommandFailure) -> [JSONValue] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        do {
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            _ = try TokenKeySet.read(bytes, file: path).get()
            return try JSONParser().parse(bytes).get()["keys"]?.array ?? []
        } catch {
            throw CommandFailure(
                .badInput,
                attempted: "adding a key to \(path)",
                cameBack: "\(error)",
                whatToDo: "choose a set that an API takes, or a path that is free"
            )
        }
    }

    private static func makeVAPID(_ call: Call) throws -> ExitCode {
        let file = call.words.value("out")
        guard file?.isEmpty != true else { throw call.words.misuse("--out takes the path of a file") }
        let (pem, publicKey) = try makePair()
        if let file { try write(pem, to: file) }
        let text = String(decoding: pem, as: UTF8.self)
        let secret = file.map { ("privateKeyFile", JSONValue.string($0)) } ?? ("privateKey", .string(text))
        let place = file.map { "private key: \($0), for webpush.keys[].privateKeyFile" } ?? text
        call.answer(.members([("publicKey", .string(publicKey)), secret]), "\(place)\npublic key: \(publicKey)")
        return .done
    }

    private static func makePair() throws(CommandFailure) -> (pem: [UInt8], publicKey: String) {
        do {
            let key = try PrivateKey.generateP256()
            return (try key.pem(), try VAPIDKey(id: "new", key: key).publicKey)
        } catch {
            throw CommandFailure(
                .bug,
                attempted: "making a key pair",
                cameBack: "\(error)",
                whatToDo: "check the installation of OpenSSL"
            )
        }
    }

    /// Writes to a new file by default, so that a key in use is never lost.
    static func write(
        _ bytes: [UInt8],
        to path: String,
        mode: UInt32 = 0o600,
        over predecessor: OutputFile.ExistingFilePolicy = .kept
    ) throws(CommandFailure) {
        do throws(OutputFile.Failure) {
            try OutputFile.write(bytes, to: path, mode: mode, predecessor: predecessor)
        } catch {
            throw CommandFailure(
                .badInput,
                attempted: "writing a key to \(path)",
                cameBack: error.reason,
                whatToDo: "choose a path that is free, in a folder that may be written to"
            )
        }
    }
}
