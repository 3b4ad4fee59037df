package import BellhopJSON
import BellhopRules
import Cryptography
package import Settings

/// All publishers with a token, from the file of `BELLHOP_PUBLISHERS`.
package struct PublisherFile: WatchedFile, Equatable {
    package static let name = "publishers"
    package static let setting = Setting.publishers

    package let accounts: [PublisherAccount]
    private let byHash: [[UInt8]: PublisherAccount]

    package var count: Int { accounts.count }

    package init(_ accounts: [PublisherAccount] = []) {
        self.accounts = accounts
        byHash = Dictionary(accounts.map { ($0.tokenHash, $0) }) { first, _ in first }
    }

    /// Returns the owner of a token.
    ///
    /// The table holds hashes of random tokens, so the time of a search does not depend on a token.
    func owner(of token: String) -> PublisherAccount? { byHash[BearerToken.hash(of: token)] }

    /// Returns the list with an account added, in place of an earlier one with the same name.
    package func having(_ account: PublisherAccount) -> PublisherFile {
        PublisherFile(accounts.filter { $0.name != account.name } + [account])
    }

    /// Returns the list without an account; `nil` if it has none of this name.
    package func removing(_ name: String) -> PublisherFile? {
        let rest = accounts.filter { $0.name != name }
        return rest.count == accounts.count ? nil : PublisherFile(rest)
    }

    /// The file's text.
    package var text: [UInt8] {
        let lines = accounts.map { "    " + String(decoding: JSONWriter.canonicalBytes(of: $0.entry), as: UTF8.self) }
        return Array("{\n  \"publishers\": [\n\(lines.joined(separator: ",\n"))\n  ]\n}\n".utf8)
    }

    /// Parses the text of such a file, or returns all its faults.
    package static func read(_ bytes: [UInt8], file: String) -> Result<PublisherFile, DocumentFaults> {
        let reading = DocumentReading(bytes, file: file, limits: .init(bytes: longestFile, depth: 8))
        let scopes = reading.scope()?.knowing(["publishers"]).scopes(
            "publishers",
            "the list of publishers",
            required: true
        )
        var accounts: [PublisherAccount] = []
        for scope in (scopes ?? []).prefix(most) {
            guard let account = PublisherAccount(scope) else { continue }
            if accounts.contains(where: { $0.name == account.name }) {
                scope.report("name", "another publisher already has this name")
            }
            if accounts.contains(where: { $0.tokenHash == account.tokenHash }) {
                scope.report("hash", "another publisher already has this token")
            }
            accounts.append(account)
        }
        if (scopes ?? []).count > most {
            reading.report(JSONPointer.root.key("publishers"), "expected at most \(most) publishers")
        }
        return reading.result(PublisherFile(accounts))
    }

    package static let longestFile = 1 << 18
    private static let most = 500
}

extension PublisherAccount {
    /// The account as it stands in the file.
    package var entry: JSONValue {
        .object(
            JSONObject(
                [
                    ("name", .string(name)), ("hash", .string(Base64URL.encode(tokenHash))),
                    ("app", .string(app.text)),
                ] + (types.map { [("types", JSONValue.array($0.map { .string($0.text) }))] } ?? [])
            )
        )
    }

    /// Reads an account.
    ///
    /// It is `nil` after a fault was reported.
    fileprivate init?(_ scope: JSONScope) {
        let scope = scope.knowing(["name", "hash", "app", "types"])
        let name = scope.text("name", PublisherAccount.nameRule, required: true, PublisherAccount.isName)
        let hash = scope.value("hash", "a hash, as bellhop keys publisher makes it", required: true) { value in
            value.string.flatMap(Base64URL.decode).flatMap { $0.count == Digest.byteCount ? $0 : nil }
        }
        let app = scope.value("app", AppID.rule, required: true) { $0.string.flatMap(AppID.init(validating:)) }
        let types = scope.list("types", EventType.rule) { $0.string.flatMap(EventType.init(validating:)) }
        guard let name, let hash, let app, types != nil || scope.object["types"] == nil else { return nil }
        self.init(name: name, app: app, types: types, tokenHash: hash)
    }
}
