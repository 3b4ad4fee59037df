/// A command that a page may call: the options and operands that it may set, and the fixed ones.
///
/// No other part of a command line can be set from a page: no settings, no files and no other operator's name.
struct CommandForm: Sendable {
    /// The number of operands that a page may set.
    enum Operands: Sendable {
        case none, atMostOne, one, many

        var range: ClosedRange<Int> {
            switch self {
            case .none: 0...0
            case .atMostOne: 0...1
            case .one: 1...1
            case .many: 0...500
            }
        }
    }

    /// The name in the path: `/api/NAME`, or `/api/acts/NAME` for an act.
    let name: String
    /// The command's name and its verb.
    let command: [String]
    var operands = Operands.none
    /// Options with a value.
    var options: Set<String> = []
    /// Options without a value.
    var switches: Set<String> = []
    /// Words that the console adds.
    var fixed: [String] = []
    /// Whether the command changes something, or shows data that requires an audit entry.
    var isAct = false
    /// Whether the command requires a confirmed count.
    var asksForConsent = false

    var shape: InputShape {
        InputShape(
            fields: options,
            switches: switches,
            items: operands.range,
            isAct: isAct,
            asksFirst: asksForConsent
        )
    }

    /// Returns the words that `who` would type.
    ///
    /// Only acts have the name and the reason.
    func words(_ input: RequestInput, by who: String, json: Bool) -> [String] {
        let audit = isAct && !input.isPreview ? ["--by=\(who)", "--because=\(input.because)"] : []
        let options = input.values.map { "--\($0.name)=\($0.value)" } + input.switches.map { "--\($0)" }
        return command + options + fixed + audit + (json ? ["--json"] : []) + ["--"] + input.items
    }

    /// The longest value, in bytes.
    static let longestValue = 8_192
    /// The maximum number of rows on a page.
    static let longestList = 1_000
}

extension CommandForm {
    /// Commands that change nothing, which viewers may call.
    static let readings: [CommandForm] = []

    /// Commands that require an operator.
    static let acts: [CommandForm] = []
}
