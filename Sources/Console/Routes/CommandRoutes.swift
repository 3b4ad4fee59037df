import BellhopJSON
import HTTPServer
import ServiceRuntime

/// Converts calls into questions to the commands, and their answers into responses.
enum CommandRoutes {
    static func read(
        _ form: CommandForm,
        _ request: HTTPRequest,
        _ session: Session,
        _ runner: CommandConcurrencyLimiter
    ) async throws(ConsoleError) -> HTTPResponse {
        let filled = try RequestInput(form.shape, query: request.target.query.map { ($0.name, $0.value) })
        return try response(
            to: try await runner.ask(CommandRequest(form.words(filled, by: session.person.name, json: true)))
        )
    }

    /// Performs an act in two steps.
    ///
    /// The first call returns the question and changes nothing. The second call contains the confirmed count and its
    /// time. If the confirmation no longer fits the present count, the question is returned again.
    static func act(
        _ form: CommandForm,
        _ body: JSONObject,
        _ session: Session,
        _ runner: CommandConcurrencyLimiter
    ) async throws(ConsoleError) -> HTTPResponse {
        let filled = try RequestInput(form.shape, body: body)
        let words = form.words(filled, by: session.person.name, json: !filled.isPreview)
        let input = Array(filled.text.utf8)
        let question = CommandRequest(words, input: input, agreed: filled.agreed, asOf: filled.agreedAsOf)
        let answer = try await runner.ask(question, isAct: true)
        if let consent = answer.consent { return asking(consent, filled.isPreview ? answer.output : "") }
        if let fault = ConsoleError(answer) { throw fault }
        return filled.isPreview ? nothing(answer.output) : done(answer)
    }

    /// Returns a command's JSON output as the answer, unchanged.
    static func response(to answer: CommandResult) throws(ConsoleError) -> HTTPResponse {
        if let fault = ConsoleError(answer) { throw fault }
        return .json(Array((answer.output.isEmpty ? "null" : answer.output).utf8))
    }

    /// Returns the question: the number of items, and the command's output before it.
    private static func asking(_ consent: CommandResult.Confirmation, _ output: String) -> HTTPResponse {
        let question: JSONValue = [
            "count": .number(JSONNumber(Int64(consent.count))), "deed": .string(consent.deed), "lines": lines(output),
            "asOf": consent.asOf.map(JSONValue.string) ?? .null,
        ]
        return .json(JSONWriter.canonicalBytes(of: ["question": question]))
    }

    private static func nothing(_ output: String) -> HTTPResponse {
        .json(JSONWriter.canonicalBytes(of: ["nothing": lines(output)]))
    }

    private static func done(_ answer: CommandResult) -> HTTPResponse {
        let json = answer.output.isEmpty ? "null" : answer.output
        return .json(Array("{\"code\":\(answer.exitCode.rawValue),\"done\":\(json)}".utf8))
    }

    private static func lines(_ output: String) -> JSONValue {
        .array(output.split(separator: "\n").map { .string(String($0)) })
    }
}
