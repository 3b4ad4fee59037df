import BellhopJSON
import CLI
import ServiceRuntime

/// The verbs of a command, such as those of `bellhop fanouts`.
protocol CommandVerb: RawRepresentable<String>, CaseIterable {
    /// The options that the verb accepts.
    var options: Set<String> { get }
}

extension CommandVerb {
    /// Whether the verb changes something, so that the audit records its reason.
    var isAct: Bool { options.contains("because") }
}

extension Words {
    /// Returns the verb that the first operand names, or `usual` without an operand.
    ///
    /// An option that the verb would ignore is an error, since it may be a costly mistake.
    func verb<Verb: CommandVerb>(usually usual: Verb) throws(CommandFailure) -> Verb {
        let name = operands.first ?? usual.rawValue
        guard let verb = Verb(rawValue: name) else {
            throw misuse("it cannot \(name)" + NearestName.hint(name, among: Verb.allCases.map(\.rawValue)))
        }
        if let stray = given.subtracting(verb.options).min() { throw misuse("\(name) has no option --\(stray)") }
        return verb
    }
}
