import BellhopRules

/// Reads the array of `PUT /faults` and reports the position of the first error in it.
enum FaultReader {
    /// An error in the input, with its position as a JSON pointer.
    struct Refusal: Error, Equatable {
        let place: String
        let message: String
    }

    private static let names = [
        "provider", "match", "status", "reason", "retryAfter", "delayMs", "dripMs", "drop", "partial", "reset",
        "goAway", "rate", "count", "phase",
    ]
    private static let longestDelay = 3_600_000
    private static let longestDrip = 60_000

    static func read(_ body: [UInt8]) throws(Refusal) -> [SandboxFault] {
        let reading = DocumentReading(body, file: "", dialect: .strict, limits: .event)
        var faults: [SandboxFault?] = []
        if let root = reading.root, root.array == nil {
            reading.report(.root, "expected an array of faults, found \(root.describedKind)")
        }
        for (index, element) in (reading.root?.array ?? []).enumerated() {
            let scope = reading.scope(of: element, at: JSONPointer.root.index(index))
            faults.append(scope.flatMap { read($0.knowing(names)) })
        }
        guard let first = reading.faults.first else { return faults.compactMap(\.self) }
        let place = first.pointer.text
        let line = place.isEmpty ? " (line \(first.line), column \(first.column))" : ""
        throw Refusal(place: place, message: first.message + line)
    }

    private static func read(_ scope: JSONScope) -> SandboxFault? {
        guard let provider = scope.word("provider", as: ProviderName.self, required: true) else { return nil }
        let delay = scope.wholeNumber("delayMs", 0...longestDelay) ?? 0
        let phase = scope.word("phase", as: DialoguePhase.self)
        let others: [String] = provider == .email ? ["partial", "reset", "goAway"] : ["phase"]
        if let stray = others.first(where: { scope.object[$0] != nil }) {
            scope.report(stray, provider == .email ? "is not for mails" : "is for the provider email alone")
        }
        guard let effect = effect(scope, isDelayed: delay > 0) else { return nil }
        let match = scope.text("match", "a string that is not empty") { !$0.isEmpty }
        var fault = SandboxFault(provider, effect, match: match, delay: .milliseconds(delay))
        fault.phase = phase
        let count = scope.wholeNumber("count", 1...Int(Int32.max))
        let rate = scope.value("rate", "a number from 0 to 1") { value in
            value.number?.double.flatMap { (0...1).contains($0) ? $0 : nil }
        }
        return fault.limited(toRate: rate ?? 1, count: count)
    }

    /// Returns at most one effect; a delay may accompany each effect or be used alone.
    private static func effect(_ scope: JSONScope, isDelayed: Bool) -> SandboxFault.Effect? {
        var found: [(key: String, effect: SandboxFault.Effect)] = []
        if let answer = answer(scope) { found.append(("status", .answer(answer))) }
        if let span = scope.wholeNumber("dripMs", 1...longestDrip) {
            found.append(("dripMs", .drip(every: .milliseconds(span))))
        }
        let endings: [(String, SandboxFault.Effect)] = [
            ("drop", .drop), ("partial", .partial), ("reset", .reset), ("goAway", .goAway),
        ]
        found += endings.filter { scope.flag($0.0) == true }
        guard let first = found.first else {
            if isDelayed { return .delay }
            scope.report(
                "status",
                "one of status, dripMs, drop, partial, reset, goAway and delayMs is needed, or nothing would happen"
            )
            return nil
        }
        if found.count > 1 {
            scope.report(found[1].key, "cannot be combined with \(first.key)")
        }
        return first.effect
    }

    private static func answer(_ scope: JSONScope) -> SandboxFault.Answer? {
        let reason = scope.text("reason", "a string that is not empty") { !$0.isEmpty }
        let retryAfter = scope.value("retryAfter", "seconds, or a date of HTTP as a string", retryAfter)
        let status = scope.wholeNumber("status", 300...599)
        if status == nil, reason != nil || retryAfter != nil {
            scope.report("status", "is required with reason or retryAfter")
        }
        return status.map { SandboxFault.Answer(status: $0, reason: reason, retryAfter: retryAfter) }
    }

    /// Returns seconds, or a text (such as an HTTP date) that is sent unchanged.
    private static func retryAfter(_ value: JSONValue) -> String? {
        if let seconds = value.number?.int64, seconds >= 0 { return String(seconds) }
        let isText = value.string.map { !$0.isEmpty && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } } ?? false
        return isText ? value.string : nil
    }
}
