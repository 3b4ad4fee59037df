import BellhopRules
import ServiceRuntime

/// Collects the faults of one file while it is read; lives no longer than that.
final class ProviderFaultSink {
    private let file: String
    private let document: PlacedJSON
    private(set) var faults: [ProviderFault] = []
    /// Each once.
    private(set) var secretFiles: [String] = []

    init(file: String, document: PlacedJSON) {
        self.file = file
        self.document = document
    }

    func report(_ pointer: JSONPointer, _ message: String) {
        let (line, column) = document.place(of: pointer)
        faults.append(ProviderFault(file: file, line: line, column: column, pointer: pointer, message: message))
    }

    func note(secretFile path: String) {
        if !secretFiles.contains(path) { secretFiles.append(path) }
    }

    /// In the order of lines, which is how a person goes through them.
    var inOrder: [ProviderFault] {
        faults.sorted { ($0.line ?? 0, $0.column ?? 0) < ($1.line ?? 0, $1.column ?? 0) }
    }
}

/// One object of the providers' file while it is read: typed access that reports instead of failing.
struct ProviderScope {
    let object: JSONObject
    let place: JSONPointer
    let sink: ProviderFaultSink

    /// Reports every key that is not among these.
    func expectKeys(_ known: [String]) {
        for member in object.members where !known.contains(member.key) {
            let near = NearestName.find(member.key, among: known)
            let advice = near.map { "did you mean \($0)?" } ?? "known are " + known.joined(separator: ", ")
            sink.report(place.key(member.key), "unknown key; \(advice)")
        }
    }

    func report(_ key: String, _ message: String) {
        sink.report(place.key(key), message)
    }

    /// A value that `read` understands; nil where the key is absent, or where it was reported.
    func value<Value>(_ key: String, _ expected: String, _ read: (JSONValue) -> Value?) -> Value? {
        guard let value = object[key] else { return nil }
        guard let understood = read(value) else {
            let found = value.typeName == "object" || value.typeName == "array" ? "an" : "another"
            report(key, "expected \(expected), found \(found) \(value.typeName)")
            return nil
        }
        return understood
    }

    func scope(_ key: String) -> ProviderScope? {
        value(key, "an object", \.object).map { ProviderScope(object: $0, place: place.key(key), sink: sink) }
    }

    func count(_ key: String, _ range: ClosedRange<Int>) -> Int? {
        value(key, "a whole number from \(range.lowerBound) to \(range.upperBound)") { value in
            value.number?.int64.flatMap(Int.init(exactly:)).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// `budget: {pushes, seconds}`: what the provider takes from all workers together.
    func budget() -> PushBudget.Limit? {
        guard let scope = scope("budget") else { return nil }
        scope.expectKeys(["pushes", "seconds"])
        guard let pushes = scope.count("pushes", 1...1_000_000_000), let seconds = scope.count("seconds", 1...86_400)
        else {
            if ["pushes", "seconds"].contains(where: { scope.object[$0] == nil }) {
                report("budget", "expected both pushes and seconds, such as {pushes: 600, seconds: 1}")
            }
            return nil
        }
        return PushBudget.Limit(pushes: pushes, seconds: seconds)
    }

    /// An `https` URL, without a slash at its end.
    func address(_ key: String) -> String? {
        value(key, "an https URL without user, query and fragment") { value in
            guard var text = value.string, ServiceAddress.isSecure(text) else { return nil }
            if text.hasSuffix("/") { text.removeLast() }
            return text
        }
    }

    func path(_ key: String) -> String? {
        value(key, "the path of a file") { value in
            value.string.flatMap { $0.isEmpty || $0.utf8.contains { $0 < 0x20 } ? nil : $0 }
        }
    }
}
