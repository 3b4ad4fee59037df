import Foundation

/// The settings of a JSON5 file: one object, its values texts, numbers, flags, or arrays of those.
struct ConfigurationFile {
    let path: String
    let values: [String: String]

    /// A configuration is small; what is larger is some other file.
    private static let longestFile = 1 << 20

    static func read(path: String) -> Result<ConfigurationFile, ConfigurationFault> {
        guard let text = text(ofFile: path, atMost: longestFile) else {
            return .failure(
                fault(path, "the file cannot be read", "a readable UTF-8 file of at most 1 MiB", "check the path")
            )
        }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do {
            let values = try decoder.decode([String: Value].self, from: Data(text.utf8))
            return .success(ConfigurationFile(path: path, values: values.mapValues(\.text)))
        } catch DecodingError.typeMismatch(_, let context) {
            let key = context.codingPath.map(\.stringValue).joined(separator: ".")
            let place = key.isEmpty ? "the whole" : "\"\(key)\""
            return .failure(
                fault(
                    path,
                    "\(place) has another form",
                    "one object of texts, numbers, flags and lists",
                    "see check-config"
                )
            )
        } catch {
            let position = JSON5Fault.locate(in: text).map { "\($0)" } ?? "no JSON5"
            return .failure(fault(path, position, "JSON5: one object", "correct the file"))
        }
    }

    /// The content of a file as UTF-8 text; nil where it is missing, unreadable, longer or no text.
    static func text(ofFile path: String, atMost limit: Int) -> String? {
        guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? handle.close() }
        guard let bytes = try? handle.read(upToCount: limit + 1), bytes.count <= limit else {
            // An empty file reads as nil.
            return (try? handle.offset()) == 0 ? "" : nil
        }
        return String(validatingUTF8Bytes: bytes)
    }

    private static func fault(_ path: String, _ found: String, _ expected: String, _ advice: String)
        -> ConfigurationFault
    {
        ConfigurationFault(
            key: "BELLHOP_CONFIG",
            source: .file(path: path),
            found: found,
            expected: expected,
            whatToDo: advice
        )
    }

    /// A value in the text form that the other sources have anyway.
    private struct Value: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self.text = text
            } else if let integer = try? container.decode(Int.self) {
                text = String(integer)
            } else if let flag = try? container.decode(Bool.self) {
                text = String(flag)
            } else if let number = try? container.decode(Double.self) {
                text = String(number)
            } else {
                text = try container.decode([Value].self).map(\.text).joined(separator: ",")
            }
        }
    }
}

extension String {
    /// Nil where the bytes are no UTF-8, instead of replacing what is wrong.
    fileprivate init?(validatingUTF8Bytes bytes: Data) {
        self.init(data: bytes, encoding: .utf8)
    }
}
