import BellhopJSON
import CLI
import Operations
import Roles
import ServiceRuntime
import Settings
import Store

/// An operator's call of a dead-letter command.
struct DeadLetterRequest: Sendable {
    let call: Call
    let verb: DeadLetterVerb
    let setup: CommandContext

    var words: Words { call.words }
    var shell: CommandEnvironment { call.shell }
    var configuration: BellhopConfiguration { setup.configuration }
    var input: DeadLetterInput { DeadLetterInput(verb.rawValue, call.fields) }
}

/// One call of a dead-letter command, with its connection to the database.
///
/// The verbs are in extensions.
struct DeadLetterSession: Sendable {
    let request: DeadLetterRequest
    let operations: DeadLetterOperations
    let replays: ReplayOperations
    let input: DeadLetterInput

    init(_ request: DeadLetterRequest, _ context: OperationsContext) {
        self.request = request
        operations = DeadLetterOperations(context)
        replays = ReplayOperations(context)
        input = request.input
    }

    var words: Words { request.words }
    var isJSON: Bool { request.call.isJSON }

    /// The words after the verb.
    var operands: [String] { Array(words.operands.dropFirst()) }

    /// Prints one line.
    ///
    /// No content of a dead letter can end it.
    func print(_ line: String) {
        request.shell.print(line: line)
    }

    /// Prints lines for people.
    func explain(_ lines: [String]) {
        guard !isJSON else { return }
        for line in lines { print(line) }
    }

    /// Prints an answer: one value for a program, or lines for people.
    ///
    /// No content of a dead letter can end a line.
    func answer(
        _ json: @autoclosure () -> JSONValue,
        lines: @autoclosure () -> [String],
        emphasis: (_ index: Int, _ line: String) -> LineStyle = { _, _ in .plain }
    ) {
        request.call.answer(json(), lines: lines(), emphasis: emphasis)
    }

    /// The width of the terminal, or `nil` if it is unknown.
    var width: Int? { request.shell.output.width }

    func actingOperator() throws(CommandFailure) -> ActingOperator { try request.call.actingOperator() }

    func confirm(_ question: ActQuestion) throws(CommandFailure) -> Bool { try request.call.confirm(question) }
}
