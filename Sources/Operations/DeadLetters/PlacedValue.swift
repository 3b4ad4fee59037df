import BellhopJSON
import BellhopRules

/// A value and its place in a body, as in `--set`.
struct PlacedValue {
    let place: JSONPointer
    let value: JSONValue

    /// Parses `/data/amount=12` or `data.amount=12`.
    ///
    /// Returns `nil` for any other form.
    init?(_ word: String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let path = parts[0].hasPrefix("/") ? parts[0] : "/" + parts[0].replacing(".", with: "/")
        guard parts.count == 2, let place = JSONPointer(path), !place.steps.isEmpty else { return nil }
        self.place = place
        // A value that is not valid JSON counts as a text, so that a command line needs no double quoting.
        value = (try? JSONParser().parse(Array(parts[1].utf8)).get()) ?? .string(parts[1])
    }

    var isOfID: Bool { place == Self.id }

    private static let id = JSONPointer("/id")
}

extension JSONValue {
    /// The placeholder of the item's own id, in an id that is set for many items.
    static let itemMark = "{item}"

    /// Returns the value with the item's id in place of the placeholder.
    func naming(_ item: String) -> JSONValue {
        guard let string else { return self }
        return .string(string.replacing(Self.itemMark, with: item))
    }
}
