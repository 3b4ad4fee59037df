import Foundation

/// Runs a body with the path of a temporary file, which is removed afterwards.
package func withTemporaryFile<Value>(_ content: String, _ body: (String) throws -> Value) throws -> Value {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("bellhop-\(UUID().uuidString)").path
    try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
}
