import BellhopJSON
import ServiceRuntime

/// The settings of a JSON5 file: one object whose values are texts, numbers, flags, or lists of these.
struct ConfigurationFile {
    let path: String
    let values: [String: String]

    /// The maximum size of a configuration; a larger file must be another kind of file.
    private static let limits = JSONParser.Limits(bytes: 1 << 20, depth: 16)

    static func read(path: String) -> Result<ConfigurationFile, ConfigurationFaults> {
        switch SmallFile.read(path, atMost: limits.bytes) {
        case .failure(let problem): return .failure(faults(path, ["the file \(problem.text)"], "check the path"))
        case .success(let bytes):
            let reading = DocumentReading(bytes, file: path, limits: limits)
            var values: [String: String] = [:]
            for member in reading.scope()?.object.members ?? [] {
                values[member.key] = text(of: member.value)
                guard values[member.key] == nil else { continue }
                reading.report(.root.key(member.key), "found \(member.value.describedKind)")
            }
            guard reading.faults.isEmpty else {
                return .failure(faults(path, reading.inOrder.map(\.finding), "correct the file"))
            }
            return .success(ConfigurationFile(path: path, values: values))
        }
    }

    /// Returns a value in the text form that the other sources use.
    private static func text(of value: JSONValue) -> String? {
        switch value {
        case .string(let text): return text
        case .number(let number): return number.text
        case .bool(let flag): return String(flag)
        case .array(let elements):
            let texts = elements.compactMap { $0.array == nil ? text(of: $0) : nil }
            return texts.count == elements.count ? texts.joined(separator: ",") : nil
        case .object, .null: return nil
        }
    }

    private static func faults(_ path: String, _ findings: [String], _ advice: String) -> ConfigurationFaults {
        let faults = findings.map { found in
            ConfigurationFault(
                key: "BELLHOP_CONFIG",
                source: .file(path: path),
                found: found,
                expected: "one JSON5 object of texts, numbers, flags and lists of those",
                whatToDo: advice
            )
        }
        return ConfigurationFaults(faults: faults)
    }
}

extension DocumentFault {
    /// The fault without its file, which the listing already names.
    fileprivate var finding: String {
        "line \(line), column \(column): \(pointer.text.isEmpty ? "" : "\(pointer.text): ")\(message)"
    }
}
