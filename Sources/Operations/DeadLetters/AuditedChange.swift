import BellhopJSON
import BellhopRules
import ServiceRuntime

/// The change of an edit, as the audit keeps it: places and values, without personal data.
enum AuditedChange {
    /// The limit of places; the number of the others follows.
    private static let mostPlaces = 10
    /// The limit of characters of a place, and of a value.
    private static let mostCharacters = 100

    /// Returns the change of one body in words, such as `/id="login-4711"`.
    static func words(_ differences: [JSONEdits.Difference], routingKey: String?) -> [String] {
        words(differences.map { words($0.placeName, $0.after, at: $0.place) }, routingKey)
    }

    /// Returns the change of many bodies, with the values as they were given.
    static func words(_ values: [PlacedValue], routingKey: String?) -> [String] {
        words(values.map { words($0.place.text, $0.value, at: $0.place) }, routingKey)
    }

    private static func words(_ places: [String], _ routingKey: String?) -> [String] {
        let others = places.count - mostPlaces
        return places.prefix(mostPlaces) + (others > 0 ? [others.of("other place")] : [])
            + (routingKey.map { ["routing key \(HumanText.cut($0, to: mostCharacters))"] } ?? [])
    }

    private static func words(_ name: String, _ value: JSONValue?, at place: JSONPointer) -> String {
        let name = HumanText.cut(name, to: mostCharacters)
        guard let value else { return "\(name) removed" }
        let text = String(decoding: JSONWriter.canonicalBytes(of: MaskedJSON.kept(value, at: place)), as: UTF8.self)
        return "\(name)=\(HumanText.cut(text, to: mostCharacters))"
    }
}
