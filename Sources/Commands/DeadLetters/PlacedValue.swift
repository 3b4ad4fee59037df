import BellhopRules

/// A value and its place in a body, as `--set` has them.
struct PlacedValue {
    let place: JSONPointer
    let value: JSONValue

    /// `/data/amount=12`, and `data.amount=12` as well; nil for what is neither.
    init?(_ word: String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let path = parts[0].hasPrefix("/") ? parts[0] : "/" + parts[0].replacing(".", with: "/")
        guard parts.count == 2, let place = JSONPointer(path), !place.steps.isEmpty else { return nil }
        self.place = place
        // What is no JSON is a text: nobody wants to quote twice on a command line.
        value = (try? JSONParser().parse(Array(parts[1].utf8)).get()) ?? .string(parts[1])
    }

    var isOfID: Bool { place == Self.id }

    private static let id = JSONPointer("/id")
}

extension JSONValue {
    /// What stands for the item's own id in an id that is given to many.
    static let itemMark = "{item}"

    /// With the item's id where the mark stands.
    func naming(_ item: String) -> JSONValue {
        guard let string else { return self }
        return .string(string.replacing(Self.itemMark, with: item))
    }
}
