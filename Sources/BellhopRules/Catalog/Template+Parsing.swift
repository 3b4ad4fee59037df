extension Template {
    /// Why a template cannot be read.
    struct SyntaxFault: Error {
        let message: String
    }

    /// Reads a template whose gaps may have these names.
    init(_ text: String, _ gaps: GapNames) throws(SyntaxFault) {
        var segments: [Segment] = []
        var words = ""
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if (scalar == "{" || scalar == "}"), rest.first == scalar {
                rest.removeFirst()
                words.unicodeScalars.append(scalar)
            } else if scalar == "}" {
                throw SyntaxFault(message: "a } without its {; write }} for a brace")
            } else if scalar == "{" {
                guard let end = rest.firstIndex(of: "}") else {
                    throw SyntaxFault(message: "a { without its }; write {{ for a brace")
                }
                let name = String(rest[..<end])
                rest = rest[rest.index(after: end)...]
                if !words.isEmpty { segments.append(.words(words)) }
                words = ""
                segments.append(.gap(try gaps.source(of: name)))
            } else {
                words.unicodeScalars.append(scalar)
            }
        }
        if !words.isEmpty { segments.append(.words(words)) }
        self.segments = segments
    }

    static func isName(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 128 else { return false }
        let steps = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return steps.allSatisfy { step in
            !step.isEmpty
                && step.allSatisfy {
                    IdentifierRules.isLetter($0) || IdentifierRules.isDigit($0) || "_-".utf8.contains($0)
                }
        }
    }
}
