import BellhopRules

/// Reads the array of `PUT /faults`; says where the first fault in the faults is.
enum FaultReader {
    /// What is wrong, and where, as a JSON pointer.
    struct Refusal: Error, Equatable {
        let place: String
        let message: String
    }

    private static let names = [
        "provider", "match", "status", "reason", "retryAfter", "delayMs", "dripMs", "drop", "partial", "reset",
        "goAway", "rate", "count", "phase",
    ]
    private static let longestDelay: Int64 = 3_600_000
    private static let longestDrip: Int64 = 60_000

    static func read(_ body: [UInt8]) throws(Refusal) -> [SandboxFault] {
        let document: JSONValue
        switch JSONParser().parse(body) {
        case .success(let value): document = value
        case .failure(let fault): throw Refusal(place: "", message: fault.message)
        }
        guard let elements = document.array else {
            throw Refusal(place: "", message: "faults are an array, found \(document.typeName)")
        }
        var faults: [SandboxFault] = []
        for (index, element) in elements.enumerated() {
            guard let object = element.object else {
                throw Refusal(place: "/\(index)", message: "a fault is an object, found \(element.typeName)")
            }
            faults.append(try read(Members(object: object, place: "/\(index)")))
        }
        return faults
    }

    private static func read(_ members: Members) throws(Refusal) -> SandboxFault {
        if let stray = members.object.members.first(where: { !names.contains($0.key) }) {
            throw members.refusal(stray.key, "there is no such member; there are \(names.joined(separator: ", "))")
        }
        let providers = ProviderName.allCases.map(\.rawValue).joined(separator: ", ")
        guard let provider = try members.text("provider").flatMap(ProviderName.init) else {
            throw members.refusal("provider", "must be one of \(providers)")
        }
        let delay = try members.whole("delayMs", in: 0...longestDelay)
        let phase = try phase(members)
        let others: [String] = provider == .email ? ["partial", "reset", "goAway"] : ["phase"]
        if let stray = others.first(where: { members.object[$0] != nil }) {
            throw members.refusal(stray, provider == .email ? "is not for mails" : "is for the provider email alone")
        }
        let effect = try effect(members, isDelayed: (delay ?? 0) > 0)
        let match = try members.text("match")
        var fault = SandboxFault(provider, effect, match: match, delay: .milliseconds(delay ?? 0))
        fault.phase = phase
        let count = try members.whole("count", in: 1...Int64(Int32.max)).map { Int($0) }
        return fault.limited(toRate: try members.rate("rate") ?? 1, count: count)
    }

    private static func phase(_ members: Members) throws(Refusal) -> DialoguePhase? {
        guard let text = try members.text("phase") else { return nil }
        guard let phase = DialoguePhase(rawValue: text) else {
            let known = DialoguePhase.allCases.map(\.rawValue).joined(separator: ", ")
            throw members.refusal("phase", "must be one of \(known)")
        }
        return phase
    }

    /// At most one of the effects; a delay may stand beside each, and alone.
    private static func effect(_ members: Members, isDelayed: Bool) throws(Refusal) -> SandboxFault.Effect {
        var found: [(key: String, effect: SandboxFault.Effect)] = []
        if let answer = try answer(members) { found.append(("status", .answer(answer))) }
        if let span = try members.whole("dripMs", in: 1...longestDrip) {
            found.append(("dripMs", .drip(every: .milliseconds(span))))
        }
        let endings: [(String, SandboxFault.Effect)] = [
            ("drop", .drop), ("partial", .partial), ("reset", .reset), ("goAway", .goAway),
        ]
        for (key, effect) in endings {
            if try members.flag(key) == true { found.append((key, effect)) }
        }
        guard let first = found.first else {
            guard !isDelayed else { return .delay }
            throw members.refusal(
                "status",
                "one of status, dripMs, drop, partial, reset, goAway and delayMs is needed, or nothing would happen"
            )
        }
        guard found.count == 1 else {
            throw members.refusal(found[1].key, "cannot stand beside \(first.key): one thing happens to a request")
        }
        return first.effect
    }

    private static func answer(_ members: Members) throws(Refusal) -> SandboxFault.Answer? {
        let reason = try members.text("reason")
        let retryAfter = try members.retryAfter("retryAfter")
        guard let status = try members.whole("status", in: 300...599) else {
            guard reason == nil, retryAfter == nil else {
                throw members.refusal("status", "is needed beside a reason or retryAfter")
            }
            return nil
        }
        return SandboxFault.Answer(status: Int(status), reason: reason, retryAfter: retryAfter)
    }
}

/// The members of one fault; null counts as absent.
private struct Members {
    let object: JSONObject
    let place: String

    func refusal(_ key: String, _ message: String) -> FaultReader.Refusal {
        FaultReader.Refusal(place: "\(place)/\(key)", message: message)
    }

    func text(_ key: String) throws(FaultReader.Refusal) -> String? {
        guard let value = present(key) else { return nil }
        guard let text = value.string, !text.isEmpty else { throw refusal(key, "must be a string that is not empty") }
        return text
    }

    func flag(_ key: String) throws(FaultReader.Refusal) -> Bool? {
        guard let value = present(key) else { return nil }
        guard let flag = value.bool else { throw refusal(key, "must be true or false") }
        return flag
    }

    func whole(_ key: String, in range: ClosedRange<Int64>) throws(FaultReader.Refusal) -> Int64? {
        guard let value = present(key) else { return nil }
        guard let number = value.number?.int64, range.contains(number) else {
            throw refusal(key, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func rate(_ key: String) throws(FaultReader.Refusal) -> Double? {
        guard let value = present(key) else { return nil }
        guard let number = value.number?.double, (0...1).contains(number) else {
            throw refusal(key, "must be a number from 0 to 1")
        }
        return number
    }

    /// Seconds, or a text (a date of HTTP) that goes out as it is.
    func retryAfter(_ key: String) throws(FaultReader.Refusal) -> String? {
        guard let value = present(key) else { return nil }
        if let seconds = value.number?.int64, seconds >= 0 { return String(seconds) }
        let isText = value.string.map { !$0.isEmpty && $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } } ?? false
        guard isText, let text = value.string else {
            throw refusal(key, "must be seconds, or a date of HTTP as a string")
        }
        return text
    }

    private func present(_ key: String) -> JSONValue? {
        guard let value = object[key], value != .null else { return nil }
        return value
    }
}
