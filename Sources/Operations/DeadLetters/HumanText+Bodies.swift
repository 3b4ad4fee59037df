package import BellhopJSON
package import ServiceRuntime

extension HumanText {
    /// Parses a body of up to 16 MiB as JSON, which may exceed the limits for messages.
    ///
    /// Returns `nil` if it is not JSON.
    package static func document(_ bytes: [UInt8]) -> JSONValue? {
        try? JSONParser(limits: .init(bytes: 16 << 20, depth: 32)).parse(bytes).get()
    }

    /// Returns the explanation for items that a replay leaves out because their bodies are cut.
    package static func cutBodies(_ count: Int) -> String {
        "\(count.of("item")) cannot be replayed: only the beginning of the body is left; have the producer send it again, "
            + "or edit --file a whole one."
    }
}
