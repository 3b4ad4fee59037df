import BellhopJSON
import HTTPServer
import Operations
import ServiceRuntime
import Store

/// Performs operations for pages.
struct OperationRoutes: Sendable {
    let context: OperationsContext
    let limiter: ConcurrencyLimiter

    func read(_ operation: Operation, _ request: HTTPRequest) async throws(ConsoleError) -> HTTPResponse {
        let input = try RequestInput(operation, query: request.target.query.map { ($0.name, $0.value) })
        let fields = input.fields
        let answer = try await limiter.run { () async -> Result<JSONValue, OperationError> in
            do throws(OperationError) {
                return .success(try await operation.read(fields, in: context))
            } catch {
                return .failure(error)
            }
        }
        return try .json(try Self.value(answer))
    }

    /// Performs an act in two steps.
    ///
    /// The first call returns the question and changes nothing. The second call contains the confirmed count and its
    /// time. If the confirmation no longer fits the present count, the question is returned again.
    func act(_ operation: Operation, _ body: JSONObject, _ session: Session) async throws(ConsoleError) -> HTTPResponse
    {
        let input = try RequestInput(operation, body: body)
        let fields = input.fields
        let operatorsName = ActingOperator(name: session.person.name, because: input.because)
        let consent = input.isPreview ? nil : Consent(by: operatorsName, agreement: input.agreement)
        let answer = try await limiter.run(isAct: true) { () async -> Result<ActAnswer, OperationError> in
            do throws(OperationError) {
                return .success(try await operation.perform(fields, consent, in: context))
            } catch {
                return .failure(error)
            }
        }
        return switch try Self.value(answer) {
        case .question(let question): try .json(question.json)
        case .nothing(let lines, _) where input.isPreview:
            try .json(.members([("nothing", .array(lines.map(JSONValue.string)))]))
        case .nothing(let lines, let json):
            try Self.done(json, .answerIsNo, [("nothing", .array(lines.map(JSONValue.string)))])
        case .done(let json, let code): try Self.done(json, code)
        }
    }

    private static func done(
        _ json: JSONValue,
        _ code: ExitCode,
        _ more: [(String, JSONValue)] = []
    ) throws(ConsoleError) -> HTTPResponse {
        try .json(.members([("code", .int(Int(code.rawValue))), ("done", json)] + more))
    }

    /// Returns the value, or throws the error in the form that a page receives.
    static func value<Value>(_ result: Result<Value, OperationError>) throws(ConsoleError) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let error): throw ConsoleError(error)
        }
    }
}

extension HTTPResponse {
    /// The longest answer of an operation, in bytes.
    static let longestAnswer = 32 << 20

    /// Returns the bytes that the command line prints: characters that move a cursor or are invisible are escaped.
    static func json(_ value: JSONValue) throws(ConsoleError) -> HTTPResponse {
        let bytes = Array(value.written.printedLine().utf8)
        guard bytes.count <= longestAnswer else { throw .longAnswer }
        return .json(bytes)
    }
}

extension ActQuestion {
    fileprivate var json: JSONValue {
        let question = JSONValue.members(
            [
                ("asOf", .optional(asOf?.description)), ("count", .int(count)), ("deed", .string(deed)),
                ("lines", .array(lines.map(JSONValue.string))),
            ] + (about?.members ?? [])
        )
        return .members([("question", question)])
    }
}

extension ConsoleError {
    fileprivate init(_ error: OperationError) {
        let (status, code): (Int, String) =
            switch error.kind {
            case .invalid: (422, "invalid-field")
            case .refused: (422, "refused")
            case .notPossible: (409, "no")
            case .tryAgain: (409, "try-again")
            case .unavailable: (503, "unavailable")
            case .misconfigured, .failed: (500, "failed")
            }
        self.init(status: status, code: code, message: error.lines)
        if case .invalid(let name?) = error.kind { field = name }
    }
}
