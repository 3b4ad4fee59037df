package import BellhopJSON
import Cryptography
package import Settings

/// All operators who may sign in, from the file of `BELLHOP_OPERATORS`.
package struct OperatorFile: WatchedFile, Equatable {
    package static let name = "operators"
    package static let setting = Setting.operators

    package let operators: [Operator]

    package var count: Int { operators.count }

    package init(_ operators: [Operator]) {
        self.operators = operators
    }

    /// Returns the owner of a token.
    ///
    /// All hashes are compared completely and in constant time, even after a match.
    func owner(of token: String) -> Operator? {
        let hash = BearerToken.hash(of: token)
        var found: Operator?
        for person in operators where ConstantTime.areEqual(person.tokenHash, hash) { found = person }
        return found
    }

    /// Returns the list with an operator added, in place of an earlier one with the same name.
    package func having(_ person: Operator) -> OperatorFile {
        OperatorFile(operators.filter { $0.name != person.name } + [person])
    }

    /// The file's text.
    package var text: [UInt8] {
        let lines = operators.map { person in
            let hash = Base64URL.encode(person.tokenHash)
            return "    {\"name\": \(person.name.asJSONString), \"role\": \"\(person.role.rawValue)\", "
                + "\"tokenHash\": \"\(hash)\"}"
        }
        return Array("{\n  \"operators\": [\n\(lines.joined(separator: ",\n"))\n  ]\n}\n".utf8)
    }

    /// Parses the text of such a file, or returns all its faults.
    package static func read(_ bytes: [UInt8], file: String) -> Result<OperatorFile, DocumentFaults> {
        let reading = DocumentReading(bytes, file: file, limits: .init(bytes: longestFile, depth: 8))
        let scopes = reading.scope()?.knowing(["operators"]).scopes(
            "operators",
            "the list of operators",
            required: true
        )
        var operators: [Operator] = []
        for scope in (scopes ?? []).prefix(most) {
            guard let person = Operator(scope) else { continue }
            if operators.contains(where: { $0.name == person.name }) {
                scope.report("name", "another operator already has this name")
            }
            operators.append(person)
        }
        if (scopes ?? []).count > most {
            reading.report(JSONPointer.root.key("operators"), "expected at most \(most) operators")
        }
        return reading.result(OperatorFile(operators))
    }

    package static let longestFile = 1 << 18
    private static let most = 500
}

extension Operator {
    /// Reads an operator.
    ///
    /// It is `nil` after a fault was reported.
    fileprivate init?(_ scope: JSONScope) {
        scope.expectKeys(["name", "role", "tokenHash"])
        let name = scope.text("name", Operator.nameRule, required: true, Operator.isName)
        let role = scope.word("role", as: OperatorRole.self, required: true)
        let hash = scope.value("tokenHash", "a hash, as bellhop keys operator makes it", required: true) { value in
            value.string.flatMap(Base64URL.decode).flatMap { $0.count == Digest.byteCount ? $0 : nil }
        }
        guard let name, let role, let hash else { return nil }
        self.init(name: name, role: role, tokenHash: hash)
    }
}
