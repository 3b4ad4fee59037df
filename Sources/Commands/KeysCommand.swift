import Cryptography
import Push
import ServiceRuntime

/// The command `bellhop keys vapid`: a key pair for signing in at push services of browsers.
struct KeysCommand: Command {
    static let name = "keys"
    static let summary = "Makes a key pair for Web Push (VAPID)."
    static let synopsis = ["keys vapid [--out FILE] [--json]"]
    static let options = [
        Option.taking("out", "FILE", "write the private key there, for its owner alone; never over another file"),
        Option.json,
    ]

    private let file: String?
    private let wantsJSON: Bool

    init(_ words: Words) throws(CommandFailure) {
        guard words.operands == ["vapid"] else { throw .usage(of: Self.name, "expected vapid") }
        file = words.value("out")
        wantsJSON = words.has("json")
        guard file?.isEmpty != true else { throw .usage(of: Self.name, "--out takes the path of a file") }
    }

    func run(_ surroundings: Surroundings) async throws -> ExitCode {
        let (pem, publicKey) = try Self.makePair()
        if let file { try Self.write(pem, to: file) }
        let text = file == nil ? String(decoding: pem, as: UTF8.self) : nil
        if wantsJSON {
            let members: [(String, JSONText)] = [
                ("publicKey", .text(publicKey)),
                text.map { ("privateKey", .text($0)) } ?? ("privateKeyFile", .optional(file)),
            ]
            surroundings.print(JSONText.object(members).description)
            return .done
        }
        if let text { surroundings.print(text) }
        if let file { surroundings.print("private key: \(file), for webpush.keys[].privateKeyFile") }
        surroundings.print("public key: \(publicKey)")
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

    /// Made anew, so that no key in use is ever lost.
    private static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        do throws(OutputFile.Failure) {
            try OutputFile.write(bytes, to: path, mode: 0o600, predecessor: .kept)
        } catch {
            throw CommandFailure(
                .configuration,
                attempted: "writing a private key to \(path)",
                cameBack: error.reason,
                whatToDo: "choose a path that is free, in a folder that may be written to"
            )
        }
    }
}
